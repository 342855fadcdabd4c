/* A function of each role that does right, but for one op: that whose value is 13. There it does what its parameters say:
 * `how`, at ops of the kind `at`, or of any if that is 0. For tests of hosts: such an op must be undone, and all others
 * must come out as if it had not been.
 *
 * An op's value is the first column of its row; without a row that of its slot, or the time of its context. The numbers of
 * `how` are in host/guest/unruly_test.go, which says what each must end in. */
#include <stdint.h>
#include "wasmstream_abi.h"

#define EXPORT(name) __attribute__((export_name(name), used))
#define IMPORT(name) __attribute__((import_module(WASMSTREAM_IMPORT_MODULE), import_name(name)))

IMPORT("fail") __attribute__((noreturn)) void fail(const char *, uint32_t);
IMPORT("state_get") int32_t state_get(uint32_t, uint32_t, const void *, uint32_t, void *, uint32_t);
IMPORT("state_put") void state_put(uint32_t, uint32_t, const void *, uint32_t, const void *, uint32_t);
IMPORT("state_delete") void state_delete(uint32_t, uint32_t, const void *, uint32_t);
IMPORT("state_scan") int32_t state_scan(uint32_t, uint32_t, const void *, uint32_t, void *, uint32_t);

/* The functions, in the order of the manifest. */
enum {
  MAP, FILTER, FLAT_MAP, KEY, TIMESTAMP, AGGREGATE, REDUCE, APPLY, ASSIGNER, TRIGGER, EVICTOR, PROCESS, CO_PROCESS,
  BROADCAST_PROCESS, JOIN, CO_GROUP, ENRICH, DECODE, ENCODE, PROCESS_TEXT
};
enum { COUNT, MAPPED, LISTED, SHARED }; /* states */

typedef uint64_t __attribute__((may_alias)) word;

static word frame_buffer[8192];
static word effects[16384];
static uint32_t effects_end; /* in words */
static int64_t how_of[20], at_of[20];

/* What is wrong about a whole answer, and not about one of its effects. */
static uint64_t spoiled_answer;
static int is_spoiled;

static uint8_t *frame;
static uint32_t role;

#define HEADER ((const wasmstream_header *)(const void *)frame)

EXPORT(WASMSTREAM_EXPORT_MARKER) void marker(void) {}
EXPORT(WASMSTREAM_EXPORT_IN) void *in(uint32_t size) { return size > sizeof frame_buffer ? 0 : frame_buffer; }

static word *put(uint32_t kind, uint32_t op, uint32_t aux, uint32_t length) {
  word *at = effects + effects_end;
  uint32_t words = (length + 7) / 8;
  at[0] = kind | (uint64_t)op << 32;
  at[1] = length | (uint64_t)aux << 32;
  for (uint32_t i = 0; i < words; i++) at[2 + i] = 0;
  effects_end += 2 + words;
  return at + 2;
}

#define TEXT(c) ((uint64_t)0x81 << 56 | (c)) /* a string of one byte */

/* A row {n, s}; of encode, a message. */
static word *emit(uint32_t op, uint32_t output, int64_t n) {
  word *row = put(WASMSTREAM_EFFECT_EMIT, op, output, 24);
  row[1] = role == ENCODE ? TEXT('n') : (uint64_t)n;
  row[2] = TEXT('x');
  return row;
}

static void number(uint32_t kind, uint32_t op, uint32_t aux, int64_t n) { *put(kind, op, aux, 8) = (uint64_t)n; }

static const wasmstream_context *context_of(const wasmstream_op *op) {
  return (const wasmstream_context *)(const void *)(frame + op->arg);
}

static word *slot_of(uint32_t slot) { return (word *)(void *)(frame + HEADER->slots_offset + slot * HEADER->slot_stride); }

static int has_slot(const wasmstream_op *op) { return op->slot != WASMSTREAM_NO_SLOT && HEADER->slot_stride; }

static int64_t value_of(const wasmstream_op *op) {
  const word *row = (const word *)(const void *)(frame + op->row);
  if (op->row) return role == DECODE ? (int64_t)(row[1] & 0xFF) : (int64_t)row[1];
  if (op->kind == WASMSTREAM_OP_RESULT || op->kind == WASMSTREAM_OP_MERGE || op->kind == WASMSTREAM_OP_CREATE) return (int64_t)slot_of(op->slot)[1];
  if (op->kind == WASMSTREAM_OP_ON_PAIR) return 0;
  return context_of(op)->time;
}

/* Adds to the first slot, which is one column. */
static void add(const wasmstream_op *op, int64_t n) {
  word *slot = slot_of(op->slot);
  slot[0] = 0;
  slot[1] += (uint64_t)n;
}

static void keyed(const wasmstream_op *op, uint32_t i, int64_t n) {
  word key[2] = {0, (uint64_t)n}, value[2] = {0, 1};
  if (role == PROCESS_TEXT) {
    word *row = put(WASMSTREAM_EFFECT_SET_SLOT, i, op->slot, 16);
    row[1] = TEXT('s');
  } else {
    add(op, n);
    state_put(i, MAPPED, key, sizeof key, value, sizeof value);
    state_put(i, LISTED, 0, 0, key, sizeof key);
  }
  emit(i, 0, n);
  number(WASMSTREAM_EFFECT_SET_TIMER, i, 0, n);
}

/* What the op is due. */
static void right(const wasmstream_op *op, uint32_t i, int64_t n) {
  switch (op->kind) {
    case WASMSTREAM_OP_CREATE: slot_of(op->slot)[1] = 0; break;
    case WASMSTREAM_OP_ADD: case WASMSTREAM_OP_REDUCE: add(op, n); break;
    case WASMSTREAM_OP_MERGE: slot_of(op->slot)[1] += slot_of(op->arg)[1]; break;
    case WASMSTREAM_OP_ON_TIMER: case WASMSTREAM_OP_ON_SECOND: keyed(op, i, n); break;
    case WASMSTREAM_OP_ON_KEY: add(op, n); break;
    case WASMSTREAM_OP_ON_BROADCAST: {
      word row[2] = {0, (uint64_t)n};
      state_put(i, SHARED, row, sizeof row, row, sizeof row);
      emit(i, 0, n);
      break;
    }
    case WASMSTREAM_OP_ON_ELEMENT: add(op, n); number(WASMSTREAM_EFFECT_SET_TIMER, i, 1, n); put(WASMSTREAM_EFFECT_DECIDE, i, 1, 0); break;
    case WASMSTREAM_OP_ON_EVENT_TIME: case WASMSTREAM_OP_ON_PROCESSING_TIME: put(WASMSTREAM_EFFECT_DECIDE, i, 3, 0); break;
    case WASMSTREAM_OP_ON_MERGE: add(op, n); break;
    case WASMSTREAM_OP_CLEAR: if (role == TRIGGER) number(WASMSTREAM_EFFECT_DELETE_TIMER, i, 1, n); break;
    case WASMSTREAM_OP_ON_WINDOW: add(op, n); emit(i, 1, n); break;
    case WASMSTREAM_OP_ASSIGN: {
      word *window = put(WASMSTREAM_EFFECT_ASSIGN, i, 0, 16);
      window[0] = (uint64_t)n;
      window[1] = (uint64_t)(n + 1);
      break;
    }
    case WASMSTREAM_OP_EVICT: put(WASMSTREAM_EFFECT_EVICT, i, 0, 0); break;
    case WASMSTREAM_OP_ON_RECORD:
      switch (role) {
        case FILTER: put(WASMSTREAM_EFFECT_KEEP, i, 0, 0); break;
        case TIMESTAMP: number(WASMSTREAM_EFFECT_EVENT_TIME, i, 0, n); break;
        case PROCESS: case CO_PROCESS: case BROADCAST_PROCESS: case PROCESS_TEXT: keyed(op, i, n); break;
        default: emit(i, 0, n);
      }
      break;
    default: emit(i, 0, n);
  }
}

static volatile uint32_t depth;

static uint32_t __attribute__((noinline)) recurse(uint32_t n) {
  depth = n;
  return n == 0xFFFFFFFF ? 0 : recurse(n + 1) * 3 ^ depth;
}

static void spoil(uint64_t answer) {
  is_spoiled = 1;
  spoiled_answer = answer;
}

/* What it does wrong about states. */
static void wrong_state(uint32_t how, const wasmstream_op *op, uint32_t i, int64_t n) {
  word row[2] = {0, 13}, broken[2] = {9, 13}, into[8];
  switch (how) {
    case 60: state_get(i, 99, row, sizeof row, into, sizeof into); break;
    case 61: state_put(i, COUNT, row, sizeof row, row, sizeof row); break; /* a slot */
    case 62: state_get(i + 1000, MAPPED, row, sizeof row, into, sizeof into); break;
    case 63: state_get(i, MAPPED, (const void *)0xFFFFFFF0, 64, into, sizeof into); break;
    case 64: state_put(i, MAPPED, broken, sizeof broken, row, sizeof row); break;
    case 65: state_put(i, MAPPED, row, sizeof row, broken, sizeof broken); break;
    case 66: state_put(i, SHARED, row, sizeof row, row, sizeof row); break;
    case 67: state_delete(i, MAPPED, row, 12); break;
    case 68: state_scan(i, MAPPED, 0, 0, (void *)0xFFFFFFF0, 64); break;
    case 69: state_put(i, LISTED, row, sizeof row, row, sizeof row); break; /* a list has no keys */
    case 70: state_put(i, MAPPED, row, sizeof row, row, sizeof row); fail("after a write", 13);
    case 71: state_delete(i, MAPPED, 0, 0); state_delete(i, LISTED, 0, 0); __builtin_trap();
    case 73: /* what is written stands over what is read: the guest has the bytes that it asked for */
      state_put(i, MAPPED, row, sizeof row, row, sizeof row);
      state_get(i, MAPPED, row, sizeof row, row, sizeof row);
      state_scan(i, MAPPED, row, sizeof row, row, sizeof row);
      state_scan(i, LISTED, row, 8, row + 1, 8);
      right(op, i, n);
      break;
    case 72: state_get(i, MAPPED, row, sizeof row, into, sizeof into); break; /* of a key that it does not have */
  }
  (void)op;
}

/* What it does wrong about slots. */
static void wrong_slot(uint32_t how, const wasmstream_op *op, uint32_t i) {
  word *slot = has_slot(op) ? slot_of(op->slot) : 0;
  switch (how) {
    case 40: slot[0] = 5; break;                                         /* a kind of change that there is not */
    case 41: slot[0] = 0x100; slot[1] = 1; break;                        /* null, with a value */
    case 42: slot[0] = 0x8000; break;                                    /* a null bit of no column */
    case 43: put(WASMSTREAM_EFFECT_SET_SLOT, i, op->slot, 16); break;    /* where slots are edited in place */
    case 44: put(WASMSTREAM_EFFECT_SET_SLOT, i, 1000, 16); break;
    case 45: put(WASMSTREAM_EFFECT_SET_SLOT, i, op->slot, 12); break;
    case 46: put(WASMSTREAM_EFFECT_SET_SLOT, i, op->slot, 16)[1] = TEXT(0xFF); break; /* no UTF-8 */
    case 47: put(WASMSTREAM_EFFECT_TOUCH, i, 1000, 0); break;
    case 48: put(WASMSTREAM_EFFECT_TOUCH, i, op->slot, 8); break;
    case 49: slot[0] = 3; slot[1] = 1; break;                            /* no value, and one */
    case 50: put(WASMSTREAM_EFFECT_SET_SLOT, i, op->slot, 16)[0] = 3; break;
  }
}

/* Rows that are none. */
static void wrong_row(uint32_t how, uint32_t i, int64_t n) {
  word *row;
  switch (how) {
    case 20: put(WASMSTREAM_EFFECT_EMIT, i, 0, 16); break;   /* too short */
    case 21: emit(i, 0, n)[0] = 1; break;                    /* a kind of change */
    case 22: emit(i, 0, n)[0] = 0x100; break;                /* null, with a value */
    case 23: emit(i, 0, n)[2] = TEXT(0xFF); break;           /* no UTF-8 */
    case 24: emit(i, 0, n)[2] = (uint64_t)24 << 32 | 9; break; /* a string behind the row's end */
    case 25: emit(i, 0, n)[2] = (uint64_t)8 << 32 | 9; break;  /* a string in the fixed part */
    case 26: emit(i, 0, n)[2] = 'x'; break;                  /* a string without length */
    case 27: row = put(WASMSTREAM_EFFECT_EMIT, i, 0, 32); row[1] = (uint64_t)n; row[2] = TEXT('x'); break; /* a word too many */
    case 28: emit(i, 0, n)[2] = (uint64_t)0x81 << 56 | 0x100 | 'x'; break; /* padding that is not zero */
    case 29: emit(i, 99, n); break;                          /* to an output that is not declared */
    case 30: put(WASMSTREAM_EFFECT_EMIT, i, 0, 0); break;
    case 31: emit(i, 0, n); emit(i, 0, n); break;
    case 32: break;                                          /* no answer */
  }
}

/* Effects that are none, or not the op's. */
static void wrong_effect(uint32_t how, uint32_t i, int64_t n) {
  word *at;
  switch (how) {
    case 3: put(999, i, 0, 0); break;
    case 4: put(0, i, 0, 0); break;
    case 5: put(WASMSTREAM_EFFECT_EMIT, i + 1000, 0, 24); break;
    case 6: put(WASMSTREAM_EFFECT_EMIT, 0xFFFFFFFF, 0, 24); break;
    case 7: put(WASMSTREAM_EFFECT_KEEP, i, 0, 0); break;
    case 8: put(WASMSTREAM_EFFECT_EVICT, i, 0, 0); break;
    case 9: number(WASMSTREAM_EFFECT_SET_TIMER, i, 0, n); break;
    case 10: put(WASMSTREAM_EFFECT_SCHEMA, i, 0, 0); break;
    case 11: put(WASMSTREAM_EFFECT_VISIT_KEYS, i, 0, 0); break;
    case 12: put(WASMSTREAM_EFFECT_DECIDE, i, 1, 0); break;
    case 13: at = put(WASMSTREAM_EFFECT_EMIT, i, 0, 8); at[-1] = 0x7FFFFFF0; break;  /* longer than the effects are */
    case 14: at = put(WASMSTREAM_EFFECT_EMIT, i, 0, 8); at[-1] = 0xFFFFFFFF; break;  /* its padded length wraps around */
    case 15: effects[effects_end++] = 7; break;                                      /* half an effect */
    case 16: number(WASMSTREAM_EFFECT_SET_TIMER, i, 7, n); break;                    /* a domain that there is not */
    case 17: put(WASMSTREAM_EFFECT_SET_TIMER, i, 0, 4); break;
    case 18: put(WASMSTREAM_EFFECT_DELETE_TIMER, i, 2, 8); break;
    case 80: put(WASMSTREAM_EFFECT_DECIDE, i, 9, 0); break;
    case 81: put(WASMSTREAM_EFFECT_DECIDE, i, 1, 0); put(WASMSTREAM_EFFECT_DECIDE, i, 1, 0); break;
    case 82: put(WASMSTREAM_EFFECT_DECIDE, i, 1, 8); break;
    case 83: at = put(WASMSTREAM_EFFECT_ASSIGN, i, 0, 16); at[0] = 10; at[1] = 10; break;
    case 84: at = put(WASMSTREAM_EFFECT_ASSIGN, i, 0, 16); at[0] = 10; at[1] = 9; break;
    case 85: put(WASMSTREAM_EFFECT_ASSIGN, i, 0, 8); break;
    case 86: put(WASMSTREAM_EFFECT_EVICT, i, 1000, 0); break;
    case 87: put(WASMSTREAM_EFFECT_EVICT, i, 1, 0); put(WASMSTREAM_EFFECT_EVICT, i, 1, 0); break;
    case 88: put(WASMSTREAM_EFFECT_EVICT, i, 1, 0); put(WASMSTREAM_EFFECT_EVICT, i, 0, 0); break;
    case 89: number(WASMSTREAM_EFFECT_EVENT_TIME, i, 0, n); number(WASMSTREAM_EFFECT_EVENT_TIME, i, 0, n); break;
    case 90: number(WASMSTREAM_EFFECT_EVENT_TIME, i, 0, n); number(WASMSTREAM_EFFECT_WATERMARK, i, 0, n); number(WASMSTREAM_EFFECT_WATERMARK, i, 0, n); break;
    case 91: put(WASMSTREAM_EFFECT_EVENT_TIME, i, 0, 16); break;
    case 92: put(WASMSTREAM_EFFECT_KEEP, i, 0, 0); put(WASMSTREAM_EFFECT_KEEP, i, 0, 0); break;
    case 93: put(WASMSTREAM_EFFECT_KEEP, i, 0, 8); break;
    case 94: put(WASMSTREAM_EFFECT_REQUEST, i, 0, 24); break; /* a request has four columns */
    case 95: for (int k = 0; k < 2; k++) { at = put(WASMSTREAM_EFFECT_REQUEST, i, 0, 40); at[1] = at[2] = at[3] = at[4] = TEXT('x'); } break;
    case 96: put(WASMSTREAM_EFFECT_VISIT_KEYS, i, 0, 0); put(WASMSTREAM_EFFECT_VISIT_KEYS, i, 0, 0); break;
    case 97: put(WASMSTREAM_EFFECT_REQUEST, i, 0, 40); break;
  }
}

/* The op whose value is 13. */
static void wrong(uint32_t how, const wasmstream_op *op, uint32_t i, int64_t n) {
  switch (how) {
    case 1: right(op, i, n); __builtin_trap();
    case 2: right(op, i, n); fail("it is 13", 8);
    case 100: spoil(0xFFFFFFF0ull << 32 | 64); break;
    case 101: spoil((uint64_t)(uintptr_t)effects << 32 | 0x7FFFFFFF); break;
    case 102: spoil((uint64_t)(uintptr_t)frame << 32 | 64); break;
    case 103: spoil(WASMSTREAM_TOO_LARGE); break;
    case 104: recurse(0); break;
    case 105: *(volatile word *)0xFFFFFFF0 = 1; break;
    case 106: { volatile int32_t zero = 0; *(volatile int32_t *)effects = 100 / zero; break; }
    case 107: fail((const char *)0xFFFFFFF0, 64);
    case 108: right(op, i, n); __builtin_wasm_memory_grow(0, 3); break;     /* this is allowed */
    case 109: while (__builtin_wasm_memory_grow(0, 16) != (__SIZE_TYPE__)-1) {} right(op, i, n); break; /* and this */
    case 110: fail("\xff\xfe", 2);
    case 111: frame[HEADER->ops_offset] = 99; right(op, i, n); break;       /* its frame is its own */
    case 112: for (;;) depth = i;                                           /* it never ends */
    default:
      if (how >= 80) wrong_effect(how, i, n);
      else if (how >= 60) wrong_state(how, op, i, n);
      else if (how >= 40) wrong_slot(how, op, i);
      else if (how >= 20) wrong_row(how, i, n);
      else wrong_effect(how, i, n);
  }
}

EXPORT(WASMSTREAM_EXPORT_CALL) uint64_t call(uint32_t function, uint8_t *at, uint32_t length) {
  frame = at;
  role = function;
  effects_end = 0;
  is_spoiled = 0;
  const wasmstream_op *op = (const wasmstream_op *)(void *)(at + HEADER->ops_offset);
  if (HEADER->total_length != length) fail("no frame", 8);
  uint32_t count = HEADER->ops_count;
  if (op->kind == WASMSTREAM_OP_OPEN) {
    const word *parameters = (const word *)(const void *)(at + op->row);
    how_of[function] = (int64_t)parameters[1];
    at_of[function] = (int64_t)parameters[2];
    return 0;
  }
  for (uint32_t i = 0; i < count; i++, op++) {
    int64_t n = value_of(op);
    uint32_t how = (uint32_t)how_of[function];
    if (n == 13 && how && (at_of[function] == 0 || at_of[function] == op->kind)) wrong(how, op, i, n);
    else right(op, i, n);
  }
  return is_spoiled ? spoiled_answer : (uint64_t)(uintptr_t)effects << 32 | effects_end * 8;
}
