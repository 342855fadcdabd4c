/* Functions that take as much as their parameters say, for tests of limits. A record {k, n} is greedy if its n is 13 or
 * more; all others are counted, and each that comes out all right is told as {k, n}. */
#define WS_EFFECTS_BYTES (8 * 1024 * 1024)
#define WS_SCRATCH_BYTES (4 * 1024 * 1024)
#include "wasmstream.h"

typedef struct { ws_header header; ws_bigint k, n; } record;
typedef struct { ws_header header; ws_bigint what, size; } wishes;
typedef struct { ws_header header; ws_bigint n; } number;
typedef struct { ws_header header; ws_string s; } text;
enum { MAPPED = 1, SLOT, TIMERS, CHAIN, CLOCK_CHAIN, LISTED, MANY }; /* what is taken */
enum { THE_SLOT, THE_MAP, THE_LIST };

static char letters[2 * 1024 * 1024];
static int64_t what, size;
static void fill(void) {
  for (uint32_t i = 0; i < sizeof letters; i++) letters[i] = 'x';
}
static void keep_open(ws_op *o, const wishes *p) {
  (void)o;
  what = ws_get(p, what);
  size = ws_get(p, size);
  fill();
}
static int is_greedy(const record *in) { return ws_get(in, n) >= 13; }

static void put(ws_op *o, int64_t under, int64_t length) {
  ws_scratch_end = 0;
  number *key = ws_row(number);
  ws_set(key, n, under);
  text *value = ws_row(text);
  ws_set_text(value, s, letters, (uint32_t)length);
  ws_map_put(o, THE_MAP, key, value);
}

static void keep_on_record(ws_op *o, const record *in) {
  if (what == MANY && !is_greedy(in)) put(o, 0, 1);
  if (is_greedy(in)) switch (what) {
    case MAPPED: case LISTED: {
      number *key = ws_row(number);
      ws_set(key, n, ws_get(in, n));
      text *value = ws_row(text);
      ws_set_text(value, s, letters, (uint32_t)size);
      if (what == MAPPED) ws_map_put(o, THE_MAP, key, value);
      else ws_list_add(o, THE_LIST, value);
      break;
    }
    case SLOT: {
      text *value = ws_replace(o, THE_SLOT, text);
      ws_set_text(value, s, letters, (uint32_t)size);
      break;
    }
    case MANY: for (int64_t i = 1; i <= 20; i++) put(o, i, size); break;
    case TIMERS: for (int64_t i = 1; i <= size; i++) ws_set_timer(o, WS_EVENT, 1000000000000000 + ws_get(in, n) * size + i); break;
    case CHAIN: ws_set_timer(o, WS_EVENT, ws_time(o) + 1); break;
    case CLOCK_CHAIN: ws_set_timer(o, WS_PROCESSING, ws_clock(o)); break;
  }
  record *out = ws_emit(o, 0, record);
  ws_set(out, k, ws_get(in, k));
  ws_set(out, n, ws_get(in, n));
}
static void keep_on_timer(ws_op *o) {
  if (what == TIMERS && ws_time(o) < 10000000000000000) ws_set_timer(o, WS_EVENT, ws_time(o) + 10000000000000000);
  if (what == CHAIN) ws_set_timer(o, WS_EVENT, ws_time(o));
  if (what == CLOCK_CHAIN) ws_set_timer(o, WS_PROCESSING, ws_time(o));
}
WS_PROCESS(keep, record)

/* many: a record is in as many windows as its n says. */
static void many_assign(ws_op *o, const record *in) {
  for (int64_t i = 0; i < ws_get(in, n); i++) ws_assign(o, ws_time(o) + i, ws_time(o) + i + 1);
}
WS_ASSIGNER(many, record)

/* again: sets each timer that it gets once more, which is so long before the window's end. A window fires at its first
 * record. */
static int64_t before;
static void again_open(ws_op *o, const number *p) { (void)o; before = ws_get(p, n); }
static ws_decision again_on_element(ws_op *o, const record *in) {
  if (is_greedy(in)) ws_set_timer(o, WS_EVENT, ws_last(o) - before);
  return WS_FIRE;
}
static ws_decision again_on_event_time(ws_op *o) {
  if (ws_time(o) == ws_last(o) - before) ws_set_timer(o, WS_EVENT, ws_time(o));
  return WS_CONTINUE;
}
WS_GO_ON(again, on_processing_time)
WS_IGNORE(again, clear)
WS_IGNORE(again, on_merge)
WS_TRIGGER(again, record)

/* longest: a greedy record makes its key's text as long as it is told. */
typedef struct { ws_header header; ws_bigint n; ws_string s; } note;
static int64_t most;
static void longest_open(ws_op *o, const number *p) { (void)o; most = ws_get(p, n); fill(); }
static void longest_reduce(ws_op *o, const note *a, const note *b, note *out) {
  (void)o;
  ws_set(out, n, ws_get(a, n) + 1);
  if (ws_get(b, n) >= 13) ws_set_text(out, s, letters, (uint32_t)most);
  else ws_set_view(out, s, ws_text(b, s));
}
WS_REDUCE(longest, note)

/* say: logs so many lines for a greedy record; burn: goes on for so many turns; grow: takes so many pages of memory. */
static int64_t lines;
static void say_open(ws_op *o, const number *p) { (void)o; lines = ws_get(p, n); }
static void say_map(ws_op *o, const record *in, record *out) {
  (void)o;
  *out = *in;
  if (is_greedy(in)) for (int64_t i = 0; i < lines; i++) ws_log(1, "so many lines", 13);
}
WS_MAP(say, record, record)

static int64_t turns;
static void burn_open(ws_op *o, const number *p) { (void)o; turns = ws_get(p, n); }
static void burn_map(ws_op *o, const record *in, record *out) {
  (void)o;
  *out = *in;
  volatile int64_t turn = 0;
  if (!is_greedy(in)) return;
  ws_log(1, "burning", 7);
  while (turn < turns) turn++;
}
WS_MAP(burn, record, record)

static int64_t pages;
static void grow_open(ws_op *o, const number *p) { (void)o; pages = ws_get(p, n); }
static void grow_map(ws_op *o, const record *in, record *out) {
  (void)o;
  *out = *in;
  if (is_greedy(in) && __builtin_wasm_memory_grow(0, (__SIZE_TYPE__)pages) == (__SIZE_TYPE__)-1) WS_FAIL("there is no more memory");
}
WS_MAP(grow, record, record)

WS_MODULE(WS_FUNCTION_WITH(0, keep, wishes) WS_FUNCTION(1, many) WS_FUNCTION_WITH(2, again, number) WS_FUNCTION_WITH(3, say, number)
  WS_FUNCTION_WITH(4, burn, number) WS_FUNCTION_WITH(5, grow, number) WS_FUNCTION_WITH(6, longest, number))
