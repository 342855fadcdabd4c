/* Fires early, at the end of the window, and for each record that is late. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_bigint due; } next; /* when it fires early; no value where nothing is new */
typedef struct { ws_header header; ws_bigint early; } parameters;

static int64_t early; /* how long results wait, in milliseconds of processing time */

static void early_late_open(ws_op *o, const parameters *p) {
  (void)o;
  early = ws_get(p, early);
}

/* Deletes the timer of the next early firing. */
static void forget(ws_op *o) {
  const next *s = ws_state(o, 0, next);
  if (!s) return;
  ws_delete_timer(o, WS_PROCESSING, ws_get(s, due));
  ws_clear(o, 0);
}

static void set_due(ws_op *o, int64_t due) {
  next *s = ws_edit(o, 0, next);
  ws_set(s, due, due);
}

static ws_decision early_late_on_element(ws_op *o, const ws_header *in) {
  (void)in;
  if (ws_last(o) <= ws_watermark(o)) return WS_FIRE; /* late */
  ws_set_timer(o, WS_EVENT, ws_last(o));
  if (!ws_state(o, 0, next)) {
    set_due(o, ws_clock(o) + early);
    ws_set_timer(o, WS_PROCESSING, ws_clock(o) + early);
  }
  return WS_CONTINUE;
}
static ws_decision early_late_on_event_time(ws_op *o) {
  if (ws_time(o) != ws_last(o)) return WS_CONTINUE;
  forget(o);
  return WS_FIRE;
}
static ws_decision early_late_on_processing_time(ws_op *o) {
  const next *s = ws_state(o, 0, next);
  if (!s || ws_get(s, due) != ws_time(o)) return WS_CONTINUE;
  ws_clear(o, 0);
  return WS_FIRE;
}
static void early_late_on_merge(ws_op *o) {
  for (uint32_t i = 0; i < ws_count(o); i++) {
    const next *of = ws_merged(o, i, 0, next), *s = ws_state(o, 0, next);
    if (of && (!s || ws_get(of, due) < ws_get(s, due))) set_due(o, ws_get(of, due));
  }
  const next *s = ws_state(o, 0, next);
  if (s) ws_set_timer(o, WS_PROCESSING, ws_get(s, due));
  if (ws_last(o) > ws_watermark(o)) ws_set_timer(o, WS_EVENT, ws_last(o));
}
static void early_late_clear(ws_op *o) {
  forget(o);
  ws_delete_timer(o, WS_EVENT, ws_last(o));
}
WS_TRIGGER(early_late, ws_header)
WS_MODULE(WS_FUNCTION_WITH(0, early_late, parameters))
