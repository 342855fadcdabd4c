/* Three failed logins, then one that succeeds, within ten minutes. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_boolean ok; } login;
typedef struct { ws_header header; ws_string user; } person;
typedef struct { ws_header header; ws_bigint n; ws_timestamp since; } failed;
typedef struct { ws_header header; ws_string user; ws_bigint failures; ws_timestamp since; } alert;

enum { ENOUGH = 3, PATIENCE = 600000 /* milliseconds */ };

static void count_failure(ws_op *o, const failed *before) {
  int is_first = !before;
  failed *s = ws_edit(o, 0, failed);
  ws_set(s, n, ws_get(s, n) + 1);
  if (!is_first) return;
  ws_set(s, since, ws_time(o));
  ws_set_timer(o, WS_EVENT, ws_time(o) + PATIENCE);
}

static void fraud_on_record(ws_op *o, const login *in) {
  const failed *before = ws_state(o, 0, failed);
  if (!ws_get(in, ok)) {
    count_failure(o, before);
    return;
  }
  if (!before) return;
  if (ws_get(before, n) >= ENOUGH) {
    alert *out = ws_emit(o, 0, alert);
    ws_set_view(out, user, ws_text(ws_key(o, person), user));
    ws_set(out, failures, ws_get(before, n));
    ws_set(out, since, ws_get(before, since));
  }
  ws_delete_timer(o, WS_EVENT, ws_get(before, since) + PATIENCE);
  ws_clear(o, 0);
}
static void fraud_on_timer(ws_op *o) { ws_clear(o, 0); }
WS_PROCESS(fraud, login)
WS_MODULE(WS_FUNCTION(0, fraud))
