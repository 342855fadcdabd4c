/* Tells how far visitors come: view, cart, payment, in this order and within an hour of the view. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string step; } click;
typedef struct { ws_header header; ws_string visitor; } person;
typedef struct { ws_header header; ws_bigint reached; ws_timestamp began; } progress;
typedef struct { ws_header header; ws_string visitor, reached; ws_bigint after; } output;

enum { STEPS = 3, PATIENCE = 3600000 /* milliseconds */ };

static ws_view step_of(int64_t i) { return i == 0 ? WS_TEXT("view") : i == 1 ? WS_TEXT("cart") : WS_TEXT("payment"); }

static void funnel_on_record(ws_op *o, const click *in) {
  const progress *before = ws_state(o, 0, progress);
  int64_t done = before ? ws_get(before, reached) : 0;
  if (!ws_same(ws_text(in, step), step_of(done))) return;
  progress *s = ws_edit(o, 0, progress);
  ws_set(s, reached, done + 1);
  if (done == 0) {
    ws_set(s, began, ws_time(o));
    ws_set_timer(o, WS_EVENT, ws_time(o) + PATIENCE);
  }
  output *out = ws_emit(o, 0, output);
  ws_set_view(out, visitor, ws_text(ws_key(o, person), visitor));
  ws_set_view(out, reached, step_of(done));
  ws_set(out, after, ws_time(o) - ws_get(s, began));
  if (done + 1 == STEPS) {
    ws_delete_timer(o, WS_EVENT, ws_get(s, began) + PATIENCE);
    ws_clear(o, 0);
  }
}
static void funnel_on_timer(ws_op *o) { ws_clear(o, 0); }
WS_PROCESS(funnel, click)
WS_MODULE(WS_FUNCTION(0, funnel))
