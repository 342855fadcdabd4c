/* What reaches outside: a format for lines, and a server that is asked about each. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string key; } keyed;
typedef struct { ws_header header; ws_string url; } address;
typedef struct { ws_header header; ws_string key; ws_int status; ws_string text, error; } found;

/* line: the line is the key; an empty one is dropped. */
static void line_decode(ws_op *o, const ws_message *in) {
  ws_view line = ws_text(in, value);
  if (line.length == 0) return;
  keyed *out = ws_emit(o, 0, keyed);
  ws_set_view(out, key, line);
}
WS_DECODE(line)

/* lookup: asks a server about each key, and puts out what it says. url is that up to the key. */
static char url[2048];
static uint32_t url_length;

static void lookup_open(ws_op *o, const address *p) {
  (void)o;
  ws_view text = ws_text(p, url);
  if (text.length > sizeof url / 2) WS_FAIL("the url is too long");
  for (url_length = 0; url_length < text.length; url_length++) url[url_length] = text.bytes[url_length];
}

/* Appends a byte of the key as a URL has it. */
static uint32_t put(uint32_t n, uint8_t b) {
  static const char hex[] = "0123456789ABCDEF";
  if ((b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || b == '-' || b == '_') {
    url[n++] = (char)b;
    return n;
  }
  url[n++] = '%';
  url[n++] = hex[b >> 4];
  url[n++] = hex[b & 15];
  return n;
}

/* A record without a key is dropped. */
static void lookup_request(ws_op *o, const keyed *in) {
  if (ws_is_null(in, key)) return;
  ws_view key = ws_text(in, key);
  uint32_t n = url_length;
  for (uint32_t i = 0; i < key.length; i++) {
    if (n + 3 > sizeof url) WS_FAIL("the key is too long");
    n = put(n, (uint8_t)key.bytes[i]);
  }
  ws_request *r = ws_ask(o);
  ws_set_text(r, method, "GET", 3);
  ws_set_text(r, url, url, n);
  ws_set_view(r, headers, WS_TEXT("accept: text/plain\n"));
  ws_set_null(r, body);
}

static void lookup_answer(ws_op *o, const keyed *in, const ws_answer *answer) {
  found *out = ws_emit(o, 0, found);
  ws_set_view(out, key, ws_text(in, key));
  if (ws_is_null(answer, status)) {
    ws_set_null(out, status);
    ws_set_null(out, text);
    ws_set_view(out, error, ws_text(answer, error));
    return;
  }
  ws_set(out, status, ws_get(answer, status));
  ws_set_view(out, text, ws_text(answer, body));
  ws_set_null(out, error);
}
WS_ENRICH(lookup, keyed)

/* told: what was found, behind its key and a tab; and the key as the record's. */
static void told_encode(ws_op *o, const found *in, ws_message *out) {
  (void)o;
  ws_view key = ws_text(in, key), text = ws_text(in, text);
  char line[4096];
  uint32_t n = 0;
  if (key.length + text.length + 1 > sizeof line) WS_FAIL("the text is too long");
  for (uint32_t i = 0; i < key.length; i++) line[n++] = key.bytes[i];
  line[n++] = '\t';
  for (uint32_t i = 0; i < text.length; i++) line[n++] = text.bytes[i];
  ws_set_text(out, value, line, n);
  ws_set_view(out, key, key);
}
WS_ENCODE(told, found)

WS_MODULE(WS_FUNCTION_WITH(0, lookup, address) WS_FUNCTION(1, line) WS_FUNCTION(2, told))
