/* An aggregate with a parameter and strings, for native_test.go. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string prefix; } parameters;
typedef struct { ws_header header; ws_string word; } input;
typedef struct { ws_header header; ws_bigint bytes; } sums;
typedef struct { ws_header header; ws_string prefix; ws_bigint bytes; ws_string remark, nothing; } output;

static char prefix[64];
static uint32_t prefix_length;

static void strings_open(ws_op *o, const parameters *p) {
  (void)o;
  ws_view v = ws_text(p, prefix);
  prefix_length = v.length > sizeof prefix ? sizeof prefix : v.length;
  for (uint32_t i = 0; i < prefix_length; i++) prefix[i] = v.bytes[i];
}

static void strings_create(sums *acc) { (void)acc; }
static void strings_add(sums *acc, const input *in) { ws_set(acc, bytes, ws_get(acc, bytes) + ws_text(in, word).length); }
static void strings_merge(sums *acc, const sums *other) { ws_set(acc, bytes, ws_get(acc, bytes) + ws_get(other, bytes)); }

static void strings_result(const sums *acc, output *out) {
  ws_set_text(out, prefix, prefix, prefix_length);
  ws_set(out, bytes, ws_get(acc, bytes));
  ws_set_text(out, remark, "more than seven bytes", 21);
  ws_set_null(out, nothing);
}

WS_AGGREGATE(strings, input, sums, output)
WS_MODULE(WS_FUNCTION_WITH(0, strings, parameters))
