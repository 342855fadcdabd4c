/* wasmstream's functions in C or C++: header only, no libc, nothing allocated. See README.md and, for the whole
 * contract, abi/README.md.
 *
 * A row is a struct: the header, then one 8-byte field per column in the schema's order.
 *
 *   typedef struct { ws_header header; ws_int delay; } input;
 *   typedef struct { ws_header header; ws_bigint flights, total; } sums;
 *
 *   static void sum_create(sums *acc) { }                               the accumulator comes zeroed, without nulls
 *   static void sum_add(sums *acc, const input *in) { ws_set(acc, total, ws_get(acc, total) + ws_get(in, delay)); }
 *   static void sum_merge(sums *acc, const sums *other) { ... }
 *   static void sum_result(const sums *acc, sums *out) { ... }          the result comes zeroed, without nulls
 *
 *   WS_AGGREGATE(sum, input, sums, sums)
 *   WS_MODULE(WS_FUNCTION(0, sum))                                      in the order of manifest.json
 *
 * Accumulators have columns of fixed width only; inputs, parameters and results may have ws_string.
 * Build: clang --target=wasm32 -nostdlib -O3 -mbulk-memory -Wl,--no-entry -Wl,-z,stack-size=65536
 */
#ifndef WASMSTREAM_H
#define WASMSTREAM_H

#include <stddef.h>
#include "wasmstream_abi.h"

/* Sizes of the two static buffers. A frame that does not fit is halved by the host, and so is one whose effects do not. */
#ifndef WS_FRAME_BYTES
#define WS_FRAME_BYTES (256 * 1024)
#endif
#ifndef WS_EFFECTS_BYTES
#define WS_EFFECTS_BYTES (256 * 1024)
#endif

/* Byte 0 is the kind of change; the null bit of column i is bit i + 8. Enough for 56 columns: a row of more begins with
 * as many ws_header in an array as (columns + 71) / 64. */
typedef uint64_t ws_header;

/* 8 bytes of whatever: for the places where a row is seen as words and as its struct. */
typedef uint64_t __attribute__((may_alias)) ws_word;

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
#else /* natively, for unit tests: the test defines ws_log and ws_fail */
#define WS_IMPORT(name)
#define WS_EXPORT(name)
#endif

#ifdef __cplusplus
#define WS_EXTERN extern "C"
#else
#define WS_EXTERN extern
#endif

/* Writes a line to the job's log. */
WS_EXTERN WS_IMPORT(log) void ws_log(uint32_t level, const char *text, uint32_t length);
/* Refuses the record at hand: nothing of this call's work on it is kept. Does not return. */
WS_EXTERN WS_IMPORT(fail) __attribute__((noreturn)) void ws_fail(const char *text, uint32_t length);

/* ws_fail with a literal. */
#define WS_FAIL(literal) ws_fail(literal, sizeof(literal) - 1)

static ws_word ws_frame[WS_FRAME_BYTES / 8];
static ws_word ws_effects[WS_EFFECTS_BYTES / 8];
/* Where the next effect begins, and whether one did not fit. */
static uint32_t ws_effects_end;
static int ws_full;

/* A view of a string's bytes: up to 7 are in the column itself, its last byte being 0x80 | length; longer ones are at
 * an offset from the row's start. A null one is empty. */
typedef struct { const char *bytes; uint32_t length; } ws_view;
static inline ws_view ws_text_at(const void *row, const ws_string *column) {
  uint64_t v = column->value;
  if (v >> 63) return (ws_view){(const char *)column, (uint32_t)(v >> 56) & 0x7F};
  return (ws_view){(const char *)row + (uint32_t)(v >> 32), (uint32_t)v};
}
#define ws_text(row, column) ws_text_at((row), &(row)->column)

/* The string for a result's column: a longer one is put behind the result, so set each column once, in their order.
 * 0, and the frame is halved, when it does not fit. */
static inline uint64_t ws_put_text(const void *row, const char *bytes, uint32_t length) {
  uint64_t v = 0;
  uint8_t *to = (uint8_t *)&v; /* little-endian, as Wasm is */
  if (length > 7) {
    if (length > WS_EFFECTS_BYTES - ws_effects_end) {
      ws_full = 1;
      return 0;
    }
    to = (uint8_t *)ws_effects + ws_effects_end;
    v = (uint64_t)(uint32_t)(to - (const uint8_t *)row) << 32 | length;
    ws_effects_end += (length + 7) & ~7u;
    ws_effects[ws_effects_end / 8 - 1] = 0; /* the padding */
  } else {
    to[7] = (uint8_t)(0x80 | length);
  }
  for (uint32_t i = 0; i < length; i++) to[i] = (uint8_t)bytes[i];
  return v;
}
#define ws_set_text(row, column, bytes, length) \
  ws_set(row, column, ws_put_text((row), (bytes), (length)))

/* Opens an emit with a zeroed row of the result's fixed size; 0 when it does not fit. */
static inline ws_word *ws_begin_emit(uint32_t op, uint32_t size) {
  if (ws_full || sizeof(wasmstream_effect) + size > WS_EFFECTS_BYTES - ws_effects_end) {
    ws_full = 1;
    return 0;
  }
  ws_word *at = ws_effects + ws_effects_end / 8;
  ws_effects_end += (uint32_t)sizeof(wasmstream_effect) + size;
  at[0] = WASMSTREAM_EFFECT_EMIT | (uint64_t)op << 32;
  for (uint32_t i = 0; i < size / 8; i++) at[2 + i] = 0;
  return at;
}

/* Closes it: its length is what was written since. */
static inline void ws_end_emit(ws_word *at) {
  at[1] = ws_effects_end - (uint32_t)((uint8_t *)(at + 2) - (uint8_t *)ws_effects);
}

#define WS_ROW(type, base, offset) ((type *)(void *)((uint8_t *)(base) + (offset)))

/* Defines the function NAME from NAME_create, NAME_add, NAME_merge and NAME_result. WS_AGGREGATE_WITH is for functions
 * with parameters: NAME_open gets them, once in each instance and before all else. */
#define WS_AGGREGATE(name, input, accumulator, output) \
  static inline void name##_open(const ws_header *parameters) { (void)parameters; } \
  WS_AGGREGATE_WITH(name, ws_header, input, accumulator, output)

#define WS_AGGREGATE_WITH(name, parameters, input, accumulator, output) \
  static void ws_run_##name(uint8_t *frame) { \
    const wasmstream_header *h = (const wasmstream_header *)(void *)frame; \
    const wasmstream_op *op = (const wasmstream_op *)(void *)(frame + h->ops_offset); \
    uint8_t *slots = frame + h->slots_offset; \
    uint32_t stride = h->slot_stride; \
    for (uint32_t i = 0, n = h->ops_count; i < n; i++, op++) { \
      /* The highest field first: engines then check bounds once for the op, not once for each field. */ \
      uint32_t arg = op->arg, row = op->row; \
      accumulator *acc = WS_ROW(accumulator, slots, op->slot * stride); \
      switch (op->kind) { \
        case WASMSTREAM_OP_ADD: name##_add(acc, WS_ROW(const input, frame, row)); break; \
        case WASMSTREAM_OP_CREATE: name##_create(acc); break; \
        case WASMSTREAM_OP_MERGE: name##_merge(acc, WS_ROW(const accumulator, slots, arg * stride)); break; \
        case WASMSTREAM_OP_OPEN: name##_open(WS_ROW(const parameters, frame, row)); break; \
        case WASMSTREAM_OP_RESULT: { \
          ws_word *at = ws_begin_emit(i, sizeof(output)); \
          if (!at) return; \
          name##_result(acc, (output *)(void *)(at + 2)); \
          ws_end_emit(at); \
          break; \
        } \
        default: WS_FAIL("wasmstream: an op of a kind that aggregates do not know"); \
      } \
    } \
  }

#define WS_FUNCTION(index, name) case index: ws_run_##name(frame); break;

/* Defines the module's exports. Here a pointer is 32 bits wide; natively the effects are read from ws_effects. */
#define WS_MODULE(functions) \
  WS_EXPORT(WASMSTREAM_EXPORT_MARKER) void ws_marker(void) {} \
  WS_EXPORT(WASMSTREAM_EXPORT_IN) void *ws_in(uint32_t size) { return size > sizeof(ws_frame) ? 0 : ws_frame; } \
  WS_EXPORT(WASMSTREAM_EXPORT_CALL) uint64_t ws_call(uint32_t function, uint8_t *frame, uint32_t length) { \
    const wasmstream_header *h = (const wasmstream_header *)(void *)frame; \
    if (h->total_length != length || h->version != WASMSTREAM_VERSION) WS_FAIL("wasmstream: a frame of another version"); \
    ws_effects_end = 0; \
    ws_full = 0; \
    switch (function) { \
      functions \
      default: WS_FAIL("wasmstream: the module has no function of that index"); \
    } \
    if (ws_full) return WASMSTREAM_TOO_LARGE; \
    return (uint64_t)(uintptr_t)ws_effects << 32 | ws_effects_end; \
  }

#endif
