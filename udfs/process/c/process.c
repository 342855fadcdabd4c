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

WS_MODULE(WS_FUNCTION_WITH(0, tick, gaps) WS_FUNCTION_WITH(1, idle, gaps))
