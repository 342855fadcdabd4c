/* Functions that fail on a record whose n is 13, each in its role: tests look at what is left of such a record. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_bigint n; } record;
typedef struct { ws_header header; ws_bigint records; ws_bigint sum; } sums;
typedef struct { ws_header header; ws_bigint size; } width;
typedef struct { ws_header header; ws_bigint a, b; } two;

static void refuse(const record *in) {
  if (ws_get(in, n) == 13) WS_FAIL("no thirteen");
}

/* at-end: as the built-in trigger event-time. It also fails on 14 in windows whose last millisecond ends in 9, and when a
 * window is cleared to which no record has come, or one that begins at 500. */
static ws_decision at_end_on_element(ws_op *o, const record *in) {
  record *seen = ws_edit(o, 0, record);
  ws_set(seen, n, ws_get(seen, n) + 1);
  refuse(in);
  if (ws_get(in, n) == 14 && ws_last(o) % 10 == 9) WS_FAIL("not here");
  if (ws_last(o) <= ws_watermark(o)) return WS_FIRE;
  ws_set_timer(o, WS_EVENT, ws_last(o));
  return WS_CONTINUE;
}
static ws_decision at_end_on_event_time(ws_op *o) { return ws_time(o) == ws_last(o) ? WS_FIRE : WS_CONTINUE; }
WS_GO_ON(at_end, on_processing_time)
static void at_end_on_merge(ws_op *o) {
  for (uint32_t w = 0; w < ws_count(o); w++) {
    record *seen = ws_edit(o, 0, record);
    const record *other = ws_merged(o, w, 0, record);
    if (!other) WS_FAIL("merged with a window without a record");
    ws_set(seen, n, ws_get(seen, n) + ws_get(other, n));
  }
  if (ws_last(o) > ws_watermark(o)) ws_set_timer(o, WS_EVENT, ws_last(o));
}
static void at_end_clear(ws_op *o) {
  if (!ws_state(o, 0, record)) WS_FAIL("cleared without a record");
  if (ws_start(o) == 500) WS_FAIL("does not end");
  ws_delete_timer(o, WS_EVENT, ws_last(o));
}
WS_TRIGGER(at_end, record)

/* counted: fires at every so many records, and never at the window's end. The record is counted before it is refused: that
 * must be undone, in the list of records, too. Its timer, one before the window's end, fails. */
static int64_t most;
static void counted_open(ws_op *o, const width *p) { (void)o; most = ws_get(p, size); }
static ws_decision counted_on_element(ws_op *o, const record *in) {
  record *seen = ws_edit(o, 0, record);
  ws_set(seen, n, ws_get(seen, n) + 1);
  ws_set_timer(o, WS_EVENT, ws_last(o) - 1);
  record *listed = ws_row(record);
  ws_set(listed, n, ws_get(in, n));
  ws_list_add(o, 1, listed);
  refuse(in);
  if (ws_get(seen, n) < most) return WS_CONTINUE;
  int64_t all = 0;
  for (ws_scan s = ws_scan_of(o, 1); ws_next(&s);) all++;
  if (all != most && ws_last(o) - ws_start(o) == 9) WS_FAIL("the list has other records"); /* longer sessions were merged */
  ws_clear(o, 0);
  ws_remove_all(o, 1);
  return WS_FIRE;
}
static ws_decision counted_on_event_time(ws_op *o) {
  if (ws_time(o) == ws_last(o) - 1) WS_FAIL("no timers");
  return WS_CONTINUE;
}
WS_GO_ON(counted, on_processing_time)
static void counted_on_merge(ws_op *o) {
  int64_t sum = 0;
  for (uint32_t w = 0; w < ws_count(o); w++) {
    const record *seen = ws_merged(o, w, 0, record);
    if (seen) sum += ws_get(seen, n);
  }
  if (sum > 0) {
    record *seen = ws_edit(o, 0, record);
    ws_set(seen, n, sum);
  }
}
static void counted_clear(ws_op *o) {
  ws_clear(o, 0);
  ws_delete_timer(o, WS_EVENT, ws_last(o) - 1);
}
WS_TRIGGER(counted, record)

/* both: sessions of two lengths for each record, 10 and 4 ms, 100 ms apart. */
static void both_assign(ws_op *o, const record *in) {
  refuse(in);
  ws_assign(o, ws_time(o), ws_time(o) + 10);
  ws_assign(o, ws_time(o) + 100, ws_time(o) + 104);
}
WS_ASSIGNER(both, record)

/* sum: how many records, and their sum. To merge in what has no record is an error, so that a host that does it shows. */
static void sum_create(sums *acc) { (void)acc; }
static void sum_add(sums *acc, const record *in) {
  ws_set(acc, records, ws_get(acc, records) + 1);
  refuse(in);
  ws_set(acc, sum, ws_get(acc, sum) + ws_get(in, n));
}
static void sum_merge(sums *acc, const sums *other) {
  if (ws_get(other, records) == 0) WS_FAIL("nothing to merge");
  ws_set(acc, records, ws_get(acc, records) + ws_get(other, records));
  ws_set(acc, sum, ws_get(acc, sum) + ws_get(other, sum));
}
static void sum_result(const sums *acc, sums *out) { *out = *acc; }
WS_AGGREGATE(sum, record, sums, sums)

/* last: the later record. */
static void last_reduce(ws_op *o, const record *a, const record *b, record *out) {
  (void)o, (void)a;
  refuse(b);
  ws_set(out, n, ws_get(b, n));
}
WS_REDUCE(last, record)

/* listed: how many records a window has, and their sum. */
static void listed_apply(ws_op *o, const record *in) {
  (void)in;
  sums *out = ws_emit(o, 0, sums);
  int64_t sum = 0;
  for (uint32_t i = 0; i < ws_count(o); i++) sum += ws_get(ws_element_row(o, i, record), n);
  ws_set(out, records, ws_count(o));
  ws_set(out, sum, sum);
}
WS_IGNORE(listed, clear)
WS_APPLY(listed, record)

/* pair: both numbers of a pair. */
static void pair_join(ws_op *o, const record *l, const record *r) {
  two *out = ws_emit(o, 0, two);
  if (l) refuse(l);
  ws_set(out, a, l ? ws_get(l, n) : -1);
  ws_set(out, b, r ? ws_get(r, n) : -1);
}
WS_JOIN(pair, record, record)

/* running: the records of a key so far, of which none is 13. */
static void running_on_record(ws_op *o, const record *in) {
  record *seen = ws_edit(o, 0, record);
  ws_set(seen, n, ws_get(seen, n) + 1);
  refuse(in);
  record *out = ws_emit(o, 0, record);
  ws_set(out, n, ws_get(seen, n));
}
WS_IGNORE(running, on_timer)
WS_PROCESS(running, record)

/* strict: as listed, and it refuses a sum over 100, whatever it is of. */
static void strict_apply(ws_op *o, const record *in) {
  (void)in;
  int64_t sum = 0;
  for (uint32_t i = 0; i < ws_count(o); i++) {
    refuse(ws_element_row(o, i, record));
    sum += ws_get(ws_element_row(o, i, record), n);
  }
  if (sum > 100) WS_FAIL("too much");
  sums *out = ws_emit(o, 0, sums);
  ws_set(out, records, ws_count(o));
  ws_set(out, sum, sum);
}
static void strict_clear(ws_op *o) { (void)o; }
WS_APPLY(strict, record)

/* newest: all but the last elements leave. With the size 0 it fails on everything. */
static int64_t kept;
static void newest_open(ws_op *o, const width *p) { (void)o; kept = ws_get(p, size); }
static void newest_evict(ws_op *o) {
  if (kept == 0) WS_FAIL("always");
  for (uint32_t i = 0; i < ws_count(o); i++) {
    refuse(ws_element_row(o, i, record));
    if (ws_count(o) - i > kept) ws_evict(o, i);
  }
}
WS_EVICTOR(newest)

WS_MODULE(WS_FUNCTION(0, at_end) WS_FUNCTION_WITH(1, counted, width) WS_FUNCTION(2, both) WS_FUNCTION(3, sum) WS_FUNCTION(4, last)
          WS_FUNCTION(5, listed) WS_FUNCTION(6, pair) WS_FUNCTION(7, running) WS_FUNCTION(8, strict) WS_FUNCTION_WITH(9, newest, width))
