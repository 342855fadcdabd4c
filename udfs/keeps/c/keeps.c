/* Functions of windows that keep lists, maps and states with a time to live. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_bigint v; } number;
typedef struct { ws_header header; ws_bigint size; } width;

/* recall: of each firing the sum, and what the states of its window and of its key have then: how many firings of the
 * window there were before (a list, and a value), how many windows of the key have fired (a map), and the sum of all
 * firings of the key (a value, and a list). */
typedef struct { ws_header header; ws_bigint start, sum, before, fired, windows, total, listed; } recalled;
enum { RECALL_SUMS, RECALL_WINDOWS, RECALL_BEFORE };
enum { RECALL_TOTAL, RECALL_FIRED };

static int64_t recall_sum(ws_op *o, uint32_t state, int64_t *entries) {
  int64_t sum = 0;
  *entries = 0;
  for (ws_scan s = ws_scan_of(o, state); ws_next(&s); ++*entries) sum += ws_get(ws_scan_value(s, number), v);
  return sum;
}
static int64_t recall_elements(ws_op *o) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < ws_count(o); i++) sum += ws_get(ws_element_row(o, i, number), v);
  return sum;
}
static void recall_apply(ws_op *o, const number *in) {
  (void)in;
  recalled *out = ws_emit(o, 0, recalled);
  int64_t sum = recall_elements(o), entries;
  ws_set(out, start, ws_start(o));
  ws_set(out, sum, sum);
  recall_sum(o, RECALL_BEFORE, &entries);
  ws_set(out, before, entries);
  number *fired = ws_edit(o, RECALL_FIRED, number), *total = ws_edit(o, RECALL_TOTAL, number);
  ws_set(out, fired, ws_get(fired, v));
  ws_set(fired, v, ws_get(fired, v) + 1);
  ws_set(total, v, ws_get(total, v) + sum);
  ws_set(out, total, ws_get(total, v));

  number *value = ws_row(number), *key = ws_row(number);
  ws_set(value, v, sum);
  ws_list_add(o, RECALL_BEFORE, value);
  ws_list_add(o, RECALL_SUMS, value);
  ws_set(key, v, ws_start(o));
  ws_map_put(o, RECALL_WINDOWS, key, value);
  recall_sum(o, RECALL_WINDOWS, &entries);
  ws_set(out, windows, entries);
  ws_set(out, listed, recall_sum(o, RECALL_SUMS, &entries));
  if (sum == -13) WS_FAIL("thirteen");
}
WS_IGNORE(recall, clear)
WS_APPLY(recall, number)

/* lately: of each result of an aggregate what states have whose time to live is 100 ms: the result before it (a value), how
 * many results there were (a list), which of its kind it is (a map whose entries live on as they are read), and the results
 * that are seen once when they are over (a list and a value). A result of 0 is kept in no value. */
typedef struct { ws_header header; ws_bigint v, last, recent, same, once, final; } late;
enum { LATELY_RECENT, LATELY_SAME, LATELY_ONCE };
enum { LATELY_LAST, LATELY_FINAL };
static void lately_apply(ws_op *o, const number *in) {
  late *out = ws_emit(o, 0, late);
  int64_t entries;
  ws_set(out, v, ws_get(in, v));
  const number *last = ws_state(o, LATELY_LAST, number), *final = ws_state(o, LATELY_FINAL, number);
  if (last) ws_set(out, last, ws_get(last, v));
  else ws_set_null(out, last);
  if (final) ws_set(out, final, ws_get(final, v));
  else ws_set_null(out, final);
  recall_sum(o, LATELY_RECENT, &entries);
  ws_set(out, recent, entries);
  ws_set(out, once, recall_sum(o, LATELY_ONCE, &entries));

  number *value = ws_row(number), *count = ws_row(number);
  ws_set(value, v, ws_get(in, v));
  const number *same = ws_map_get(o, LATELY_SAME, value, number);
  ws_set(count, v, same ? ws_get(same, v) + 1 : 1);
  ws_set(out, same, ws_get(count, v));
  if (!same) ws_map_put(o, LATELY_SAME, value, count);
  ws_list_add(o, LATELY_RECENT, value);
  ws_list_add(o, LATELY_ONCE, value);
  ws_touch(o, LATELY_FINAL);
  if (ws_get(in, v) == 0) return;
  ws_set(ws_replace(o, LATELY_LAST, number), v, ws_get(in, v));
  ws_set(ws_replace(o, LATELY_FINAL, number), v, ws_get(in, v));
}
static void lately_clear(ws_op *o) { ws_touch(o, LATELY_FINAL); }
WS_APPLY(lately, number)

/* distinct: fires when so many different values have come since it fired last (a map), and at the window's end if any has (a
 * list); a value that has come 100 ms ago or less (a value with a time to live) counts for nothing. */
enum { DISTINCT_ORDER, DISTINCT_SEEN };
enum { DISTINCT_LAST };
static int64_t most;
static void distinct_open(ws_op *o, const width *p) { (void)o; most = ws_get(p, size); }
static void distinct_count(ws_op *o, const number *key, int64_t more) {
  number *value = ws_row(number);
  const number *was = ws_map_get(o, DISTINCT_SEEN, key, number);
  ws_set(value, v, more + (was ? ws_get(was, v) : 0));
  ws_map_put(o, DISTINCT_SEEN, key, value);
}
static ws_decision distinct_on_element(ws_op *o, const number *in) {
  const number *last = ws_state(o, DISTINCT_LAST, number);
  int64_t entries;
  ws_set_timer(o, WS_EVENT, ws_last(o));
  if (last && ws_get(last, v) == ws_get(in, v)) return WS_CONTINUE;
  ws_set(ws_replace(o, DISTINCT_LAST, number), v, ws_get(in, v));
  number *value = ws_row(number);
  ws_set(value, v, ws_get(in, v));
  ws_list_add(o, DISTINCT_ORDER, value);
  distinct_count(o, value, 1);
  recall_sum(o, DISTINCT_SEEN, &entries);
  if (ws_get(in, v) == -13) WS_FAIL("thirteen");
  if (entries < most) return WS_CONTINUE;
  ws_remove_all(o, DISTINCT_ORDER);
  ws_remove_all(o, DISTINCT_SEEN);
  return WS_FIRE;
}
static ws_decision distinct_on_event_time(ws_op *o) {
  int64_t entries;
  recall_sum(o, DISTINCT_ORDER, &entries);
  return entries > 0 && ws_time(o) == ws_last(o) ? WS_FIRE : WS_CONTINUE;
}
WS_GO_ON(distinct, on_processing_time)
static void distinct_on_merge(ws_op *o) {
  ws_set_timer(o, WS_EVENT, ws_last(o));
  ws_list_merge(o, DISTINCT_ORDER);
  number *key = ws_row(number);
  for (uint32_t w = 0; w < ws_count(o); w++) {
    for (ws_scan s = ws_scan_of(o, ws_merged_state(w, DISTINCT_SEEN)); ws_next(&s);) {
      ws_set(key, v, ws_get(ws_scan_key(s, number), v));
      distinct_count(o, key, ws_get(ws_scan_value(s, number), v));
    }
    const number *last = ws_merged(o, w, DISTINCT_LAST, number);
    if (last) ws_set(ws_replace(o, DISTINCT_LAST, number), v, ws_get(last, v));
  }
}
static void distinct_clear(ws_op *o) { ws_delete_timer(o, WS_EVENT, ws_last(o)); }
WS_TRIGGER(distinct, number)

/* again: fires at an even record that finds nothing that an odd one has left behind (a value that lives for 100 ms and is seen
 * once when it is over). */
static ws_decision again_on_element(ws_op *o, const number *in) {
  int found = ws_state(o, 0, number) != 0;
  ws_touch(o, 0);
  if (ws_get(in, v) & 1) ws_set(ws_replace(o, 0, number), v, ws_get(in, v));
  return found || ws_get(in, v) & 1 ? WS_CONTINUE : WS_FIRE;
}
WS_GO_ON(again, on_event_time)
WS_GO_ON(again, on_processing_time)
static void again_on_merge(ws_op *o) {
  for (uint32_t w = 0; w < ws_count(o); w++) {
    const number *was = ws_merged(o, w, 0, number);
    if (was) ws_set(ws_replace(o, 0, number), v, ws_get(was, v));
  }
}
WS_IGNORE(again, clear)
WS_TRIGGER(again, number)

WS_MODULE(WS_FUNCTION(0, recall) WS_FUNCTION(1, lately) WS_FUNCTION_WITH(2, distinct, width) WS_FUNCTION(3, again))
