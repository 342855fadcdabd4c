/* A row of each session, those of bots apart: a bot clicks too fast for too long. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string page; } click;
typedef struct { ws_header header; ws_string user; } person;
typedef struct { ws_header header; ws_string user; ws_timestamp start; ws_bigint clicks; ws_string first, last; } visit;
typedef struct { ws_header header; ws_bigint clicks, gap; } parameters;
enum { PEOPLE, BOTS }; /* the outputs */

static int64_t least, gap; /* how many clicks a bot makes, and how far apart they are at the most, on average */

static void visits_open(ws_op *o, const parameters *p) {
  (void)o;
  least = ws_get(p, clicks);
  gap = ws_get(p, gap);
}

static void visits_apply(ws_op *o, const click *in) {
  (void)in;
  uint32_t begin = 0, end = 0;
  for (uint32_t i = 0; i < ws_count(o); i++) {
    /* Elements come in order of arrival, which is not that of time. */
    if (ws_element(o, i)->time < ws_element(o, begin)->time) begin = i;
    if (ws_element(o, i)->time >= ws_element(o, end)->time) end = i;
  }
  int64_t n = ws_count(o), from = ws_element(o, begin)->time, to = ws_element(o, end)->time;
  visit *out = ws_emit(o, n >= least && to - from <= gap * (n - 1) ? BOTS : PEOPLE, visit);
  ws_set_view(out, user, ws_text(ws_key(o, person), user));
  ws_set(out, start, from);
  ws_set(out, clicks, n);
  ws_set_view(out, first, ws_text(ws_element_row(o, begin, click), page));
  ws_set_view(out, last, ws_text(ws_element_row(o, end, click), page));
}
WS_IGNORE(visits, clear)
WS_APPLY(visits, click)
WS_MODULE(WS_FUNCTION_WITH(0, visits, parameters))
