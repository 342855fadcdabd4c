/* Process functions for tests and benchmarks of the host. */
#include "wasmstream.h"

/* tick: counts a key's records, and by a timer for each of them how many times there were; tells both at the end of time. */
typedef struct { ws_header header; ws_bigint key; } bid;
typedef struct { ws_header header; ws_bigint records, times; } ticks;
typedef struct { ws_header header; ws_bigint key, records, times; } told;
typedef struct { ws_header header; ws_bigint gap; } gaps;
static int64_t gap;
static void tick_open(ws_op *o, const gaps *p) { (void)o; gap = ws_get(p, gap); }
static void tick_on_record(ws_op *o, const bid *in) {
  (void)in;
  ticks *s = ws_edit(o, 0, ticks);
  if (ws_get(s, records) == 0) ws_set_timer(o, WS_EVENT, INT64_MAX);
  ws_set(s, records, ws_get(s, records) + 1);
  ws_set_timer(o, WS_EVENT, ws_time(o) + gap);
}
static void tick_on_timer(ws_op *o) {
  ticks *s = ws_edit(o, 0, ticks);
  if (ws_time(o) < INT64_MAX) {
    ws_set(s, times, ws_get(s, times) + 1);
    return;
  }
  told *out = ws_emit(o, 0, told);
  ws_set(out, key, ws_get(ws_key(o, bid), key));
  ws_set(out, records, ws_get(s, records));
  ws_set(out, times, ws_get(s, times));
  ws_clear(o, 0);
}
WS_PROCESS(tick, bid)

/* idle: Flink's count with a timeout. A key is told when nothing has come of it for a while; timers that a later record has
 * overtaken say nothing. */
typedef struct { ws_header header; ws_bigint n; ws_timestamp last; } counted;
typedef struct { ws_header header; ws_bigint key, n; } silent;
static int64_t patience;
static void idle_open(ws_op *o, const gaps *p) { (void)o; patience = ws_get(p, gap); }
static void idle_on_record(ws_op *o, const bid *in) {
  (void)in;
  counted *s = ws_edit(o, 0, counted);
  ws_set(s, n, ws_get(s, n) + 1);
  ws_set(s, last, ws_time(o));
  ws_set_timer(o, WS_EVENT, ws_time(o) + patience);
}
static void idle_on_timer(ws_op *o) {
  const counted *s = ws_state(o, 0, counted);
  if (!s || ws_get(s, last) + patience != ws_time(o)) return;
  silent *out = ws_emit(o, 0, silent);
  ws_set(out, key, ws_get(ws_key(o, bid), key));
  ws_set(out, n, ws_get(s, n));
  ws_clear(o, 0);
}
WS_PROCESS(idle, bid)

/* ledger: what a key has added up by the end of time, in states of all kinds and by timers: rows {k, what, at, n}. */
typedef struct { ws_header header; ws_string k; ws_bigint v; } entry;
typedef struct { ws_header header; ws_string k; } named;
typedef struct { ws_header header; ws_bigint n; } number;
typedef struct { ws_header header; ws_bigint total, fired; } sums;
typedef struct { ws_header header; ws_string k; ws_bigint what, at, n; } line;
enum { LEDGER_SUMS = 0, LEDGER_COUNTS = 1, LEDGER_ALL = 2 };
static void ledger_on_record(ws_op *o, const entry *in) {
  sums *s = ws_edit(o, LEDGER_SUMS, sums);
  ws_set(s, total, ws_get(s, total) + ws_get(in, v));
  ws_set_timer(o, WS_EVENT, 1000000 + ws_get(in, v) % 7);
  ws_set_timer(o, WS_EVENT, INT64_MAX);
  number *key = ws_row(number);
  ws_set(key, n, ws_get(in, v) % 8);
  const number *before = ws_map_get(o, LEDGER_COUNTS, key, number);
  number *value = ws_row(number);
  ws_set(value, n, 1 + (before ? ws_get(before, n) : 0));
  ws_map_put(o, LEDGER_COUNTS, key, value);
  ws_set(value, n, ws_get(in, v));
  ws_list_add(o, LEDGER_ALL, value);
}
static void ledger_tell(ws_op *o, int64_t what, int64_t at, int64_t n) {
  line *out = ws_emit(o, 0, line);
  ws_set_view(out, k, ws_text(ws_key(o, named), k));
  ws_set(out, what, what);
  ws_set(out, at, at);
  ws_set(out, n, n);
}
static void ledger_on_timer(ws_op *o) {
  sums *s = ws_edit(o, LEDGER_SUMS, sums);
  if (ws_time(o) < INT64_MAX) {
    ws_set(s, fired, ws_get(s, fired) + 1);
    return;
  }
  ledger_tell(o, 0, ws_get(s, fired), ws_get(s, total));
  for (ws_scan each = ws_scan_of(o, LEDGER_COUNTS); ws_next(&each);)
    ledger_tell(o, 1, ws_get(ws_scan_key(each, number), n), ws_get(ws_scan_value(each, number), n));
  int64_t all = 0, sum = 0;
  for (ws_scan each = ws_scan_of(o, LEDGER_ALL); ws_next(&each); all++) sum += ws_get(ws_scan_value(each, number), n);
  ledger_tell(o, 2, all, sum);
}
WS_PROCESS(ledger, entry)

/* rates: how many records a key had, and what was broadcast for it, by the end of time: rows {k, what 3, at, n}. */
enum { RATES_COUNT = 0, RATES_SHARED = 1 };
static void rates_on_record(ws_op *o, const entry *in) {
  (void)in;
  number *count = ws_edit(o, RATES_COUNT, number);
  ws_set(count, n, ws_get(count, n) + 1);
  ws_set_timer(o, WS_EVENT, INT64_MAX);
}
static void rates_on_broadcast(ws_op *o, const entry *in) {
  named *key = ws_row(named);
  ws_set_view(key, k, ws_text(in, k));
  const number *before = ws_map_get(o, RATES_SHARED, key, number);
  number *value = ws_row(number);
  ws_set(value, n, ws_get(in, v) + (before ? ws_get(before, n) : 0));
  ws_map_put(o, RATES_SHARED, key, value);
}
static void rates_on_timer(ws_op *o) {
  const number *count = ws_state(o, RATES_COUNT, number);
  named *key = ws_row(named);
  ws_set_view(key, k, ws_text(ws_key(o, named), k));
  const number *shared = ws_map_get(o, RATES_SHARED, key, number);
  ledger_tell(o, 3, count ? ws_get(count, n) : 0, shared ? ws_get(shared, n) : 0);
}
WS_IGNORE_KEYS(rates, entry)
WS_BROADCAST_PROCESS(rates, entry, entry)

WS_MODULE(WS_FUNCTION_WITH(0, tick, gaps) WS_FUNCTION_WITH(1, idle, gaps) WS_FUNCTION(2, ledger) WS_FUNCTION(3, rates))
