/* Triggers that read no record: what it costs to ask one is measured with them. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_bigint size; } width;
typedef struct { ws_header header; ws_bigint n; } number;

/* at_end: as the built-in trigger event-time. */
static ws_decision at_end_on_element(ws_op *o, const ws_header *in) {
  (void)in;
  if (ws_last(o) <= ws_watermark(o)) return WS_FIRE;
  ws_set_timer(o, WS_EVENT, ws_last(o));
  return WS_CONTINUE;
}
static ws_decision at_end_on_event_time(ws_op *o) { return ws_time(o) == ws_last(o) ? WS_FIRE : WS_CONTINUE; }
WS_GO_ON(at_end, on_processing_time)
static void at_end_on_merge(ws_op *o) {
  if (ws_last(o) > ws_watermark(o)) ws_set_timer(o, WS_EVENT, ws_last(o));
}
static void at_end_clear(ws_op *o) { ws_delete_timer(o, WS_EVENT, ws_last(o)); }
WS_TRIGGER(at_end, ws_header)

/* counted: as the built-in trigger count. */
static int64_t most;
static void counted_open(ws_op *o, const width *p) { (void)o; most = ws_get(p, size); }
static ws_decision counted_on_element(ws_op *o, const ws_header *in) {
  (void)in;
  number *seen = ws_edit(o, 0, number);
  ws_set(seen, n, ws_get(seen, n) + 1);
  if (ws_get(seen, n) < most) return WS_CONTINUE;
  ws_clear(o, 0);
  return WS_FIRE;
}
WS_GO_ON(counted, on_event_time)
WS_GO_ON(counted, on_processing_time)
static void counted_on_merge(ws_op *o) {
  int64_t sum = 0;
  for (uint32_t w = 0; w < ws_count(o); w++) {
    const number *seen = ws_merged(o, w, 0, number);
    if (seen) sum += ws_get(seen, n);
  }
  if (sum > 0) {
    number *seen = ws_edit(o, 0, number);
    ws_set(seen, n, sum);
  }
}
static void counted_clear(ws_op *o) { ws_clear(o, 0); }
WS_TRIGGER(counted, ws_header)

WS_MODULE(WS_FUNCTION(0, at_end) WS_FUNCTION_WITH(1, counted, width))
