/* Lets each event through once: its state is forgotten after a day. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string id, payload; } event;
typedef struct { ws_header header; ws_boolean seen; } before; /* its life begins when it is written, and is not prolonged */

static void first_seen_on_record(ws_op *o, const event *in) {
  if (ws_state(o, 0, before)) return;
  before *s = ws_edit(o, 0, before);
  ws_set(s, seen, 1);
  event *out = ws_emit(o, 0, event);
  ws_set_view(out, id, ws_text(in, id));
  ws_set_view(out, payload, ws_text(in, payload));
}
WS_IGNORE(first_seen, on_timer)
WS_PROCESS(first_seen, event)
WS_MODULE(WS_FUNCTION(0, first_seen))
