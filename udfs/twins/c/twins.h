/* What the twins have in common: numbers of columns that are found by name, and words. */
#include "wasmstream.h"

#define NOT_A_NUMBER __builtin_nan("")

/* A column of numbers, or none. */
typedef struct { ws_column column; char type; } numeric; /* type: i INT, l BIGINT, f FLOAT, d DOUBLE, 0 none */

static inline char type_of(ws_column c) {
  if (ws_is_type(c, WS_TEXT("INT"))) return 'i';
  if (ws_is_type(c, WS_TEXT("BIGINT"))) return 'l';
  if (ws_is_type(c, WS_TEXT("FLOAT"))) return 'f';
  if (ws_is_type(c, WS_TEXT("DOUBLE"))) return 'd';
  return 0;
}

/* Finds a column of numbers; without a name, none. */
static inline numeric find_numeric(const ws_op *o, ws_view name) {
  numeric n;
  n.type = 0;
  n.column = ws_find(ws_schema_of(o, 0), name);
  if (name.length == 0) return n;
  if (!n.column.offset) ws_fail(name.bytes, name.length);
  n.type = type_of(n.column);
  if (!n.type) WS_FAIL("the column is of no type that twins reckon with");
  return n;
}

static inline int64_t integer_of(const void *row, numeric n) {
  return n.type == 'i' ? ws_any_get(row, n.column, ws_int) : ws_any_get(row, n.column, ws_bigint);
}

/* As a double; null is not a number. */
static inline double double_of(const void *row, numeric n) {
  if (ws_any_is_null(row, n.column)) return NOT_A_NUMBER;
  if (n.type == 'd') return ws_any_get(row, n.column, ws_double);
  if (n.type == 'f') return (double)ws_any_get(row, n.column, ws_float);
  return (double)integer_of(row, n);
}

/* Cuts what stands before a separator off the text; all of it, if there is none. */
static inline ws_view cut(ws_view *text, char separator) {
  uint32_t n = 0;
  while (n < text->length && text->bytes[n] != separator) n++;
  ws_view word = ws_view_of(text->bytes, n);
  uint32_t gone = n < text->length ? n + 1 : n;
  *text = ws_view_of(text->bytes + gone, text->length - gone);
  return word;
}

static inline int64_t number_of(ws_view digits) {
  int64_t n = 0;
  for (uint32_t i = 0; i < digits.length; i++) n = n * 10 + (digits.bytes[i] - '0');
  return n;
}

/* Sums wrap around, as in Java. */
static inline int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
