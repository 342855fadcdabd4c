package org.wasmstream.abi;

import java.util.ArrayList;
import java.util.List;

/** A function of an instance: performs frames, and checks what the guest answers. */
final class Function {
  /** What a frame was answered by. */
  record Answer(List<Effects.Effect> effects, byte[] after) {}

  final Engine.Guest guest;
  private final int index;

  Function(Engine.Guest guest, int index) {
    this.guest = guest;
    this.index = index;
  }

  /** Performs a frame. */
  Answer perform(Frame frame) throws GuestFault {
    int size = frame.bytes.length;
    int pointer = (int) guest.call(Abi.EXPORT_IN, size);
    long from = Integer.toUnsignedLong(pointer);
    if (pointer == 0) {
      throw new GuestFault(Abi.Fault.TOO_LARGE, "the guest has no room for " + size + " bytes");
    }
    if (from % 8 != 0 || from + size > guest.size()) {
      throw new GuestFault(Abi.Fault.BAD_POINTER, "a buffer of " + size + " bytes at " + from);
    }
    guest.write(pointer, frame.bytes);
    long answer = guest.call(Abi.EXPORT_CALL, index, pointer, size);
    if (answer == Abi.TOO_LARGE) {
      throw new GuestFault(Abi.Fault.TOO_LARGE, "the guest has no room for the effects");
    }
    long at = answer >>> 32;
    long length = answer & 0xFFFFFFFFL;
    boolean overlaps = at < from + size && from < at + length;
    if (length > 0 && (at + length > guest.size() || length > Abi.EFFECTS_BYTES_MAX || overlaps)) {
      throw new GuestFault(Abi.Fault.BAD_EFFECTS, length + " bytes of effects at " + at + ", the frame is at " + from);
    }
    List<Effects.Effect> effects = Effects.read(guest.read((int) at, (int) length), frame.ops);
    byte[] after = guest.read(pointer, size);
    check(frame, effects, after);
    return new Answer(effects, after);
  }

  /** Looks at what needs no schema: the answers of aggregates, and the form of slots. */
  private static void check(Frame frame, List<Effects.Effect> effects, byte[] after) throws GuestFault {
    List<Integer> emits = new ArrayList<>();
    for (int op = 0; op < frame.ops; op++) {
      emits.add(0);
    }
    for (Effects.Effect e : effects) {
      int kind = frame.kind(e.op());
      boolean plain = kind == Abi.OP_CREATE || kind == Abi.OP_ADD || kind == Abi.OP_MERGE || kind == Abi.OP_REDUCE;
      if (e.kind() != Abi.EFFECT_SET_SLOT && plain) {
        throw new GuestFault(Abi.Fault.BAD_EFFECT, "op " + e.op() + " may not be answered by " + e);
      }
      if (e.kind() == Abi.EFFECT_EMIT) {
        emits.set(e.op(), emits.get(e.op()) + 1);
      }
    }
    for (int op = 0; op < frame.ops; op++) {
      if (frame.kind(op) == Abi.OP_RESULT && emits.get(op) != 1) {
        throw new GuestFault(Abi.Fault.BAD_ANSWER, "op " + op + ", a result, was answered by " + emits.get(op) + " rows");
      }
    }
    for (int slot = 0; frame.stride > 0 && slot < frame.slots; slot++) {
      int at = frame.slotsOffset + slot * frame.stride;
      boolean zero = true;
      for (int i = at + 1; i < at + frame.stride; i++) {
        zero &= after[i] == 0;
      }
      boolean accumulates = frame.kind(0) == Abi.OP_CREATE || frame.kind(0) == Abi.OP_ADD;
      if (after[at] != 0 && (after[at] != 3 || !zero || accumulates)) {
        throw new GuestFault(Abi.Fault.BAD_ROW, "slot " + slot + " has the kind of change " + after[at]);
      }
    }
  }
}
