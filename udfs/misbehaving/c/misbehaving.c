/* Guests that do wrong, one for each -D of variants.txt: what a host must take without harm. Each is an aggregate of the
 * delays function's schemas, and right but for the one thing. */
#include <stdint.h>
#include "wasmstream_abi.h"

#define EXPORT(name) __attribute__((export_name(name), used))

__attribute__((import_module(WASMSTREAM_IMPORT_MODULE), import_name("fail"), noreturn)) void fail(const char *, uint32_t);

static uint64_t frame[8192] __attribute__((unused));
static uint64_t effects[8192];
static uint32_t used_words;

#ifdef VERSION
EXPORT("wasmstream_abi_9") void marker(void) {}
#else
EXPORT(WASMSTREAM_EXPORT_MARKER) void marker(void) {}
#endif

EXPORT(WASMSTREAM_EXPORT_IN) uint32_t in(uint32_t size) {
  (void)size;
#if defined(IN_ZERO)
  return 0;
#elif defined(IN_END)
  return __builtin_wasm_memory_size(0) * 65536 - 8;
#else
  return size > sizeof(frame) ? 0 : (uint32_t)(uintptr_t)frame;
#endif
}

__attribute__((unused)) static void put(uint32_t kind, uint32_t op, uint32_t row_bytes) {
  effects[used_words++] = kind | (uint64_t)op << 32;
  effects[used_words++] = row_bytes;
  for (uint32_t i = 0; i < row_bytes / 8; i++) effects[used_words++] = 0;
}

/* 32 zero bytes are a row of the output: no flights, and sums of 0. */
__attribute__((unused)) static void perform(const wasmstream_op *op, uint32_t i, uint8_t *slot) {
  (void)i, (void)slot;
  if (op->kind == WASMSTREAM_OP_RESULT) {
#ifndef NO_RESULT
    put(WASMSTREAM_EFFECT_EMIT, i, 32);
#endif
#ifdef TWO_RESULTS
    put(WASMSTREAM_EFFECT_EMIT, i, 32);
#endif
  }
  if (op->kind != WASMSTREAM_OP_ADD) return;
#if defined(TRAP)
  __builtin_trap();
#elif defined(FAIL)
  fail("no such luck", 12);
#elif defined(EMIT_FOR_ADD)
  put(WASMSTREAM_EFFECT_EMIT, i, 32);
#elif defined(EFFECTS_KIND)
  put(999, i, 0);
#elif defined(EFFECTS_OP)
  put(WASMSTREAM_EFFECT_EMIT, i + 1000, 32);
#elif defined(SLOT_KIND)
  slot[0] = 3; /* an accumulator's kind of change is +I, 0 */
#endif
}

#ifndef NO_CALL
EXPORT(WASMSTREAM_EXPORT_CALL) uint64_t call(uint32_t function, uint8_t *at, uint32_t length) {
  const wasmstream_header *h = (const wasmstream_header *)(void *)at;
  const wasmstream_op *op = (const wasmstream_op *)(void *)(at + h->ops_offset);
  uint64_t pointer = (uintptr_t)effects;
  (void)function;
  used_words = 0;
  for (uint32_t i = 0; i < h->ops_count; i++, op++) perform(op, i, at + h->slots_offset + op->slot * h->slot_stride);
  if (op[-1].kind == WASMSTREAM_OP_OPEN) return 0;
#if defined(EFFECTS_POINTER)
  return 0xFFFFFFF0ull << 32 | 64;
#elif defined(EFFECTS_LENGTH)
  return pointer << 32 | 0x7FFFFFFF;
#elif defined(EFFECTS_OVERLAP)
  return (uint64_t)(uintptr_t)at << 32 | 64;
#elif defined(FULL)
  return WASMSTREAM_TOO_LARGE;
#endif
  (void)length;
  return pointer << 32 | used_words * 8;
}
#endif
