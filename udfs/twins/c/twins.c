/* Twins of built-in parts: ../README.md says what each does. */
#include "twins.h"
#include "trigger.h"

/* --- Assigners. --- */

typedef struct { ws_header header; ws_bigint size, offset; } tumbles;
typedef struct { ws_header header; ws_bigint size, slide, offset; } slides;
typedef struct { ws_header header; ws_bigint gap; ws_string gap_field; } gaps;

static int64_t size, slide, offset;

static int64_t start_of(int64_t time, int64_t width) {
  int64_t r = minus(time, offset) % width;
  return minus(time, r < 0 ? r + width : r);
}

static void need_time(ws_op *o) {
  if (ws_time(o) == WS_NO_TIME) WS_FAIL("a record without a timestamp came to a window of event time");
}

static void tumbling_open(ws_op *o, const tumbles *p) {
  (void)o;
  size = ws_get(p, size);
  offset = ws_get(p, offset);
}
static void tumble(ws_op *o, int64_t time) {
  int64_t start = start_of(time, size);
  ws_assign(o, start, plus(start, size));
}
static void tumbling_assign(ws_op *o, const ws_header *in) { (void)in; need_time(o); tumble(o, ws_time(o)); }
WS_ASSIGNER(tumbling, ws_header)
static void tumbling_processing_open(ws_op *o, const tumbles *p) { tumbling_open(o, p); }
static void tumbling_processing_assign(ws_op *o, const ws_header *in) { (void)in; tumble(o, ws_clock(o)); }
WS_ASSIGNER(tumbling_processing, ws_header)

static void sliding_open(ws_op *o, const slides *p) {
  (void)o;
  size = ws_get(p, size);
  slide = ws_get(p, slide);
  offset = ws_get(p, offset);
}
static void slide_over(ws_op *o, int64_t time) {
  for (int64_t start = start_of(time, slide); start > minus(time, size); start = minus(start, slide)) ws_assign(o, start, plus(start, size));
}
static void sliding_assign(ws_op *o, const ws_header *in) { (void)in; need_time(o); slide_over(o, ws_time(o)); }
WS_ASSIGNER(sliding, ws_header)
static void sliding_processing_open(ws_op *o, const slides *p) { sliding_open(o, p); }
static void sliding_processing_assign(ws_op *o, const ws_header *in) { (void)in; slide_over(o, ws_clock(o)); }
WS_ASSIGNER(sliding_processing, ws_header)

static int64_t gap;
static numeric gap_field;
static void session_open(ws_op *o, const gaps *p) {
  gap = ws_get(p, gap);
  gap_field = find_numeric(o, ws_text(p, gap_field));
}
static void sit(ws_op *o, const ws_header *in, int64_t time) {
  int64_t of = gap;
  if (gap_field.type) of = ws_any_is_null(in, gap_field.column) ? 0 : integer_of(in, gap_field);
  if (of <= 0) WS_FAIL("a session's gap must be above 0");
  ws_assign(o, time, plus(time, of));
}
static void session_assign(ws_op *o, const ws_header *in) { sit(o, in, ws_time(o)); }
WS_ASSIGNER(session, ws_header)
static void session_processing_open(ws_op *o, const gaps *p) { session_open(o, p); }
static void session_processing_assign(ws_op *o, const ws_header *in) { sit(o, in, ws_clock(o)); }
WS_ASSIGNER(session_processing, ws_header)

/* --- The evictor. --- */

static enum { BY_COUNT, BY_TIME, BY_DELTA } by;
static int64_t kept;
static numeric evicted_field;
static double evicted_threshold;

static void evictor_open(ws_op *o, const rules *p) {
  ws_view text = ws_text(p, rule), word = cut(&text, ' ');
  if (ws_same(word, WS_TEXT("count"))) by = BY_COUNT;
  else if (ws_same(word, WS_TEXT("time"))) by = BY_TIME;
  else if (ws_same(word, WS_TEXT("delta"))) by = BY_DELTA;
  else WS_FAIL("the rule is none of udfs/twins/README.md");
  kept = number_of(text);
  evicted_field = find_numeric(o, ws_text(p, field));
  evicted_threshold = ws_get(p, threshold);
}

static void evict_by_time(ws_op *o) {
  int64_t newest = WS_NO_TIME;
  if (ws_count(o) == 0 || ws_element(o, 0)->time == WS_NO_TIME) return;
  for (uint32_t i = 0; i < ws_count(o); i++) {
    int64_t time = ws_element(o, i)->time;
    if (time == WS_NO_TIME) WS_FAIL("an element without a timestamp came to an evictor by time");
    if (time > newest) newest = time;
  }
  for (uint32_t i = 0; i < ws_count(o); i++) {
    if (ws_element(o, i)->time <= minus(newest, kept)) ws_evict(o, i);
  }
}

static void evictor_evict(ws_op *o) {
  uint32_t n = ws_count(o);
  switch (by) {
    case BY_COUNT:
      for (uint32_t i = 0; (int64_t)i + kept < (int64_t)n; i++) ws_evict(o, i);
      break;
    case BY_TIME: evict_by_time(o); break;
    case BY_DELTA:
      for (uint32_t i = 0; i < n; i++) {
        double last = double_of(ws_element_row(o, n - 1, ws_header), evicted_field);
        if (last - double_of(ws_element_row(o, i, ws_header), evicted_field) >= evicted_threshold) ws_evict(o, i);
      }
      break;
  }
}
WS_EVICTOR(evictor)

/* --- The aggregate. --- */

enum { CALLS_MAX = 4 };
typedef struct { ws_header header; ws_string calls; } wants;
typedef struct { ws_bigint integer; ws_double number; ws_bigint seen; } part;
typedef struct { ws_header header; part of[CALLS_MAX]; } accumulator;

static struct { char what; numeric of; } calls[CALLS_MAX]; /* what: c count, s sum, < min, > max, a avg */
static uint32_t calls_count;

static int is_integer(uint32_t i) { return calls[i].of.type == 'i' || calls[i].of.type == 'l'; }

/* Appends to the schema that is answered. */
static char schema[4096];
static uint32_t schema_length;
static void say(ws_view text) {
  if (text.length > sizeof schema - schema_length) WS_FAIL("the output's schema is too long");
  for (uint32_t i = 0; i < text.length; i++) schema[schema_length++] = text.bytes[i];
}

static ws_view type_of_result(uint32_t i) {
  if (calls[i].what == 'c' || (is_integer(i) && (calls[i].what == 's' || calls[i].what == 'a'))) return WS_TEXT("BIGINT");
  return calls[i].of.type == 'i' ? WS_TEXT("INT") : calls[i].of.type == 'l' ? WS_TEXT("BIGINT") : WS_TEXT("DOUBLE");
}

static void aggregate_open(ws_op *o, const wants *p) {
  calls_count = schema_length = 0;
  for (ws_view text = ws_text(p, calls); text.length > 0;) {
    if (calls_count == CALLS_MAX) WS_FAIL("more than four calls");
    ws_view line = cut(&text, '\n'), what = cut(&line, '\t'), column = cut(&line, '\t');
    uint32_t i = calls_count++;
    calls[i].what = ws_same(what, WS_TEXT("min")) ? '<' : ws_same(what, WS_TEXT("max")) ? '>' : what.bytes[0];
    calls[i].of = find_numeric(o, column);
    say(type_of_result(i));
    say(WS_TEXT("\t"));
    say(line);
    say(WS_TEXT("\n"));
  }
  ws_answer_schema(o, 0, ws_view_of(schema, schema_length));
}

static int64_t checked_sum(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) WS_FAIL("a sum of integers is an overflow");
  return sum;
}

/* Takes a value, or the sum of several, in. */
static void include(uint32_t i, part *to, int64_t integer, double number, int64_t seen) {
  int is_first = to->seen.value == 0;
  if (seen == 0) return;
  to->seen.value += seen;
  switch (calls[i].what) {
    case 's': case 'a':
      if (is_integer(i)) to->integer.value = checked_sum(to->integer.value, integer);
      else to->number.value += number;
      break;
    case '<': case '>':
      if (is_first || (calls[i].what == '<' ? integer < to->integer.value : integer > to->integer.value)) to->integer.value = integer;
      if (is_first || (calls[i].what == '<' ? number < to->number.value : number > to->number.value)) to->number.value = number;
      break;
    default: break;
  }
}

static void add(accumulator *acc, const void *in) {
  for (uint32_t i = 0; i < calls_count; i++) {
    numeric of = calls[i].of;
    if (!of.type) include(i, &acc->of[i], 0, 0, 1);
    else if (ws_any_is_null(in, of.column)) continue;
    else if (is_integer(i)) include(i, &acc->of[i], integer_of(in, of), 0, 1);
    else include(i, &acc->of[i], 0, double_of(in, of), 1);
  }
}

static void result(ws_op *o, const accumulator *acc) {
  ws_word *row = ws_effect(o, WASMSTREAM_EFFECT_EMIT, 0, 8 + 8 * calls_count);
  for (uint32_t i = 0; i < calls_count; i++) {
    const part *of = &acc->of[i];
    int64_t integer = of->integer.value;
    if (calls[i].what == 'c') integer = of->seen.value;
    else if (of->seen.value == 0) {
      ((uint8_t *)row)[1] |= (uint8_t)(1u << i);
      continue;
    }
    if (calls[i].what != 'c' && !is_integer(i)) {
      ws_double value = {calls[i].what == 'a' ? of->number.value / (double)of->seen.value : of->number.value};
      __builtin_memcpy(row + 1 + i, &value, 8);
      continue;
    }
    if (calls[i].what == 'a') integer /= of->seen.value;
    if ((calls[i].what == '<' || calls[i].what == '>') && calls[i].of.type == 'i') integer = (uint32_t)integer;
    row[1 + i] = (uint64_t)integer;
  }
}

static accumulator *slot_of(ws_op *o, uint32_t slot) { return WS_ROW(accumulator, o->frame, o->header->slots_offset + slot * o->header->slot_stride); }

static void merge(accumulator *to, const accumulator *from) {
  for (uint32_t i = 0; i < calls_count; i++) include(i, &to->of[i], from->of[i].integer.value, from->of[i].number.value, from->of[i].seen.value);
}

/* As WS_AGGREGATE, but that the result's width is known when it is opened. */
WS_RUN(aggregate,
  case WASMSTREAM_OP_ADD: add(slot_of(o, o->op->slot), WS_IN(ws_header)); break;
  case WASMSTREAM_OP_CREATE: break;
  case WASMSTREAM_OP_MERGE: merge(slot_of(o, o->op->slot), slot_of(o, o->op->arg)); break;
  case WASMSTREAM_OP_RESULT: result(o, slot_of(o, o->op->slot)); break;)

/* --- The join. --- */

typedef struct { ws_header header; ws_boolean window; } joins;
enum { COLUMNS_MAX = 256 };
static struct { uint32_t offset, index; int is_text; } side_columns[2][COLUMNS_MAX];
static uint32_t side_count[2];
static int with_window;

static void open_side(ws_op *o, int side) {
  ws_schema of = ws_schema_of(o, (uint32_t)side);
  if (of.columns > COLUMNS_MAX) WS_FAIL("too many columns");
  side_count[side] = of.columns;
  for (uint32_t i = 0; i < of.columns; i++) {
    ws_column c = ws_column_at(of, i);
    side_columns[side][i].offset = c.offset;
    side_columns[side][i].index = c.index;
    int is_text = side_columns[side][i].is_text = ws_is_type(c, WS_TEXT("STRING")) || ws_is_type(c, WS_TEXT("BYTES"));
    ws_view brackets = c.type;
    cut(&brackets, '(');
    int64_t precision = number_of(cut(&brackets, brackets.length && ws_is_type(c, WS_TEXT("DECIMAL")) ? ',' : ')'));
    int is_wide = ws_is_type(c, WS_TEXT("DECIMAL")) ? precision > 18 : ws_is_type(c, WS_TEXT("TIMESTAMP")) && precision > 3;
    if (!is_text && is_wide) WS_FAIL("a column is of a type that the twin of joins does not take");
    say(c.type);
    say(side ? WS_TEXT("\tright_") : WS_TEXT("\tleft_"));
    say(c.name);
    say(WS_TEXT("\n"));
  }
}

static void join_open(ws_op *o, const joins *p) {
  schema_length = 0;
  open_side(o, 0);
  open_side(o, 1);
  with_window = ws_get(p, window);
  if (with_window) say(WS_TEXT("BIGINT\twindow_start\nBIGINT\twindow_end\n"));
  ws_answer_schema(o, 0, ws_view_of(schema, schema_length));
}

static void join_join(ws_op *o, const ws_header *left, const ws_header *right) {
  const ws_header *sides[2] = {left, right};
  uint32_t columns = side_count[0] + side_count[1] + (with_window ? 2 : 0), first = (columns + 71) / 64, n = 0;
  ws_word *row = ws_effect(o, WASMSTREAM_EFFECT_EMIT, 0, 8 * (first + columns));
  for (int side = 0; side < 2; side++) {
    for (uint32_t i = 0; i < side_count[side]; i++, n++) {
      const ws_header *in = sides[side];
      ws_column c;
      c.offset = side_columns[side][i].offset;
      c.index = side_columns[side][i].index;
      if (!in || ws_any_is_null(in, c)) {
        ((uint8_t *)row)[(n + 8) / 8] |= (uint8_t)(1u << (n % 8));
      } else if (side_columns[side][i].is_text) {
        ws_view text = ws_any_text(in, c);
        row[first + n] = ws_put_text(row, text.bytes, text.length);
      } else {
        row[first + n] = *(const ws_word *)(const void *)((const uint8_t *)in + c.offset);
      }
    }
  }
  if (with_window) {
    row[first + n] = (uint64_t)ws_start(o);
    row[first + n + 1] = (uint64_t)ws_end(o);
  }
}
WS_JOIN(join, ws_header, ws_header)

WS_MODULE(
  WS_FUNCTION_WITH(0, tumbling, tumbles) WS_FUNCTION_WITH(1, tumbling_processing, tumbles) WS_FUNCTION_WITH(2, sliding, slides)
  WS_FUNCTION_WITH(3, sliding_processing, slides) WS_FUNCTION_WITH(4, session, gaps) WS_FUNCTION_WITH(5, session_processing, gaps)
  WS_FUNCTION_WITH(6, trigger, rules) WS_FUNCTION_WITH(7, evictor, rules) WS_FUNCTION_WITH(8, aggregate, wants)
  WS_FUNCTION_WITH(9, join, joins))
