/* Makes a key of the user and a salt, so that the load of a hot user is spread. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string user; ws_bigint number; } input;
typedef struct { ws_header header; ws_string who; ws_int salt; } salted;
typedef struct { ws_header header; ws_bigint salts; } parameters;

static int64_t salts;

static void salt_open(ws_op *o, const parameters *p) {
  (void)o;
  salts = ws_get(p, salts);
}

static void salt_key(ws_op *o, const input *in, salted *out) {
  (void)o;
  if (ws_is_null(in, user)) ws_set_null(out, who);
  else ws_set_view(out, who, ws_text(in, user));
  ws_set(out, salt, (int32_t)((ws_get(in, number) % salts + salts) % salts));
}
WS_KEY(salt, input, salted)
WS_MODULE(WS_FUNCTION_WITH(0, salt, parameters))
