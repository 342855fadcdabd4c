/* Rows: structs whose columns are read and written by ws_get, ws_set and ws_text. Part of wasmstream.h. */
#ifndef WASMSTREAM_ROW_H
#define WASMSTREAM_ROW_H

#include <stddef.h>
#include "wasmstream_abi.h"

/* Byte 0 is the kind of change; the null bit of column i is bit i + 8. Enough for 56 columns: a row of more begins with
 * as many ws_header in an array as (columns + 71) / 64. */
typedef uint64_t ws_header;

/* 8 bytes of whatever: for the places where a row is seen as words and as its struct. */
typedef uint64_t __attribute__((may_alias)) ws_word;
typedef uint32_t __attribute__((may_alias)) ws_half;

/* One column's 8 bytes. `rest` stays zero: rows are compared by their bytes. */
typedef struct { uint8_t value, rest[7]; } ws_boolean;
typedef struct { int32_t value; uint32_t rest; } ws_int;
typedef struct { int64_t value; } ws_bigint;
typedef struct { float value; uint32_t rest; } ws_float;
typedef struct { double value; } ws_double;
typedef struct { int64_t value; } ws_timestamp; /* milliseconds since 1970 */
typedef struct { int32_t value; uint32_t rest; } ws_date; /* days since 1970 */
typedef struct { uint64_t value; } ws_string; /* STRING or BYTES: see ws_text */

/* Everything about a column is known when the function is compiled. */
#define WS_INDEX(row, column) \
  ((__builtin_offsetof(__typeof__(*(row)), column) - sizeof((row)->header)) / 8)
#define WS_NULL_BYTE(row, column) (((uint8_t *)(row))[(WS_INDEX(row, column) + 8) / 8])
#define WS_NULL_MASK(row, column) ((uint8_t)(1u << (WS_INDEX(row, column) % 8)))

/* The column, zero if it is null. */
#define ws_get(row, column) ((row)->column.value)
#define ws_is_null(row, column) ((WS_NULL_BYTE(row, column) & WS_NULL_MASK(row, column)) != 0)
#define ws_set(row, column, v) \
  (WS_NULL_BYTE(row, column) &= (uint8_t)~WS_NULL_MASK(row, column), (row)->column.value = (v))
#define ws_set_null(row, column) \
  (WS_NULL_BYTE(row, column) |= WS_NULL_MASK(row, column), *(ws_word *)(void *)&(row)->column = 0)

#ifdef __wasm__
#define WS_IMPORT(name) __attribute__((import_module(WASMSTREAM_IMPORT_MODULE), import_name(#name)))
#define WS_EXPORT(name) __attribute__((export_name(name), used))
#else /* natively, for unit tests: the test defines what is imported */
#define WS_IMPORT(name)
#define WS_EXPORT(name)
#endif

#ifdef __cplusplus
#define WS_EXTERN extern "C"
#else
#define WS_EXTERN extern
#endif

/* What a module has no use for is left out without a warning. */
#define WS_PART __attribute__((unused)) static

/* Writes a line to the job's log. */
WS_EXTERN WS_IMPORT(log) void ws_log(uint32_t level, const char *text, uint32_t length);
/* Refuses the record at hand: nothing of this call's work on it is kept. Does not return. */
WS_EXTERN WS_IMPORT(fail) __attribute__((noreturn)) void ws_fail(const char *text, uint32_t length);

/* ws_fail with a literal. */
#define WS_FAIL(literal) ws_fail(literal, sizeof(literal) - 1)

/* Ends a call that asks for one of several things that is not there: "wasmstream: there is no element 7 of 3". */
WS_PART __attribute__((noreturn)) void ws_lacks(const char *what, uint32_t i, uint32_t n) {
  char text[128], digits[10];
  const char *parts[4] = {"wasmstream: there is no ", what, " ", " of "};
  const uint32_t numbers[4] = {0, 0, i, n};
  uint32_t length = 0;
  for (uint32_t part = 0; part < 4; part++) {
    for (const char *p = parts[part]; *p && length < sizeof text - sizeof digits; p++) text[length++] = *p;
    if (part < 2) continue;
    uint32_t count = 0, rest = numbers[part];
    do digits[count++] = (char)('0' + rest % 10); while (rest /= 10);
    while (count) text[length++] = digits[--count];
  }
  ws_fail(text, length);
}

/* Sizes of the static buffers. A frame that does not fit is halved by the host, and so is one whose effects do not. What
 * does not fit into the scratch, rows of one op, is refused. */
#ifndef WS_FRAME_BYTES
#define WS_FRAME_BYTES (256 * 1024)
#endif
#ifndef WS_EFFECTS_BYTES
#define WS_EFFECTS_BYTES (256 * 1024)
#endif
#ifndef WS_SCRATCH_BYTES
#define WS_SCRATCH_BYTES (32 * 1024)
#endif

#define WS_AS_TEXT(x) #x
#define WS_VALUE_AS_TEXT(x) WS_AS_TEXT(x)
/* Ends a call whose only op has effects that do not fit: no half of the frame would. */
WS_PART __attribute__((noreturn)) void ws_lacks_room(void) {
  WS_FAIL("wasmstream: the effects of one op are larger than WS_EFFECTS_BYTES, which is " WS_VALUE_AS_TEXT(WS_EFFECTS_BYTES));
}

/* The widest fixed part of a row: 1024 columns. */
#define WS_ROW_BYTES (8 * 1024 + 144)

static ws_word ws_frame[WS_FRAME_BYTES / 8];
/* Behind the effects is room for a row that did not fit: it can be written, and is never read. */
static ws_word ws_effects[(WS_EFFECTS_BYTES + sizeof(wasmstream_effect) + WS_ROW_BYTES) / 8];
static ws_word ws_scratch[WS_SCRATCH_BYTES / 8];
/* Where the next effect, and the next row in the scratch, begin; and whether an effect did not fit. */
static uint32_t ws_effects_end, ws_scratch_end;
static int ws_full;

/* Rows that a function writes are in one of the two buffers, and the 4 bytes 8 before each are its length: in an effect
 * they are the payload's. */
#define WS_LENGTH(row) (((ws_half *)(void *)(uintptr_t)(row))[-2])

/* Begins a zeroed row in the scratch, good until the op ends: keys and values for states. */
WS_PART void *ws_scratch_row(uint32_t size) {
  if (size + 8 > WS_SCRATCH_BYTES - ws_scratch_end) WS_FAIL("wasmstream: the rows of one op are larger than WS_SCRATCH_BYTES");
  ws_word *row = ws_scratch + ws_scratch_end / 8 + 1;
  ws_scratch_end += size + 8;
  for (uint32_t i = 0; i < size / 8; i++) row[i] = 0;
  row[-1] = size;
  return row;
}
#define ws_row(type) ((type *)ws_scratch_row(sizeof(type)))

/* A view of a string's bytes: up to 7 are in the column itself, its last byte being 0x80 | length; longer ones are at
 * an offset from the row's start. A null one is empty. */
typedef struct { const char *bytes; uint32_t length; } ws_view;
WS_PART inline ws_view ws_text_at(const void *row, const void *column) {
  uint64_t v = *(const ws_word *)column;
  ws_view view;
  if (v >> 63) {
    view.bytes = (const char *)column;
    view.length = (uint32_t)(v >> 56) & 0x7F;
  } else {
    view.bytes = (const char *)row + (uint32_t)(v >> 32);
    view.length = (uint32_t)v;
  }
  return view;
}
#define ws_text(row, column) ws_text_at((row), &(row)->column)

/* Whether two views have the same bytes. */
WS_PART inline int ws_same(ws_view a, ws_view b) {
  if (a.length != b.length) return 0;
  for (uint32_t i = 0; i < a.length; i++) {
    if (a.bytes[i] != b.bytes[i]) return 0;
  }
  return 1;
}
/* A view of a literal. */
WS_PART inline ws_view ws_view_of(const char *bytes, uint32_t length) {
  ws_view view;
  view.bytes = bytes;
  view.length = length;
  return view;
}
#define WS_TEXT(literal) ws_view_of(literal, sizeof(literal) - 1)

/* Room for a longer string behind the row that was begun last in its buffer; 0 when it does not fit. */
WS_PART uint8_t *ws_room_for_text(const void *row, uint32_t length) {
  ws_word *buffer = ws_effects;
  uint32_t *end = &ws_effects_end, limit = WS_EFFECTS_BYTES, padded = (length + 7) & ~7u;
  if ((uintptr_t)row - (uintptr_t)ws_scratch < sizeof ws_scratch) {
    buffer = ws_scratch;
    end = &ws_scratch_end;
    limit = WS_SCRATCH_BYTES;
  }
  if (ws_full) return 0;
  if (length > limit || padded > limit - *end) {
    if (buffer == ws_scratch) WS_FAIL("wasmstream: the rows of one op are larger than WS_SCRATCH_BYTES");
    ws_full = 1;
    return 0;
  }
  uint8_t *to = (uint8_t *)buffer + *end;
  *end += padded;
  buffer[*end / 8 - 1] = 0; /* the padding */
  WS_LENGTH(row) += padded;
  return to;
}

/* 8 bytes from anywhere to anywhere. */
typedef struct { uint64_t bytes; } __attribute__((packed, may_alias)) ws_bytes8;
WS_PART inline void ws_copy_word(void *to, const void *from) { *(ws_bytes8 *)to = *(const ws_bytes8 *)from; }

/* The string for a column of a row that is being written: a longer one is put behind the row, so set each column once,
 * in their order, before another row is begun. 0, and the frame is halved, when it does not fit. */
WS_PART inline uint64_t ws_put_text(const void *row, const char *bytes, uint32_t length) {
  uint64_t v = 0;
  uint8_t *to = (uint8_t *)&v; /* little-endian, as Wasm is */
  if (length > 7) {
    to = ws_room_for_text(row, length);
    if (!to) return 0;
    for (uint32_t i = 0; i + 8 < length; i += 8) ws_copy_word(to + i, bytes + i);
    ws_copy_word(to + length - 8, bytes + length - 8); /* the last word overlaps the one before */
    return (uint64_t)(uint32_t)(to - (const uint8_t *)row) << 32 | length;
  }
  to[7] = (uint8_t)(0x80 | length);
  for (uint32_t i = 0; i < length; i++) to[i] = (uint8_t)bytes[i];
  return v;
}
#define ws_set_text(row, column, bytes, length) \
  ws_set(row, column, ws_put_text((row), (bytes), (length)))
/* The same from a view. */
#define ws_set_view(row, column, view) ws_set_text(row, column, (view).bytes, (view).length)

#define WS_ROW(type, base, offset) ((type *)(void *)((uint8_t *)(base) + (offset)))

#endif
