package org.wasmstream.abi;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Effects as a guest answered them, read without trust. */
final class Effects {
  /** One effect. */
  record Effect(int kind, int op, int aux, byte[] payload) {
    boolean same(Effect other) {
      return kind == other.kind && op == other.op && aux == other.aux && Arrays.equals(payload, other.payload);
    }

    @Override
    public String toString() {
      return "effect " + kind + " of op " + op + ", aux " + aux + ", " + Vectors.hex(payload);
    }
  }

  private Effects() {}

  /** Reads the effects of a frame with so many ops. */
  static List<Effect> read(byte[] bytes, int ops) throws GuestFault {
    List<Effect> list = new ArrayList<>();
    ByteBuffer at = Frame.view(bytes);
    int last = 0;
    for (int from = 0; from < bytes.length; ) {
      if (bytes.length - from < Abi.EFFECT_BYTES) {
        throw new GuestFault(Abi.Fault.BAD_EFFECTS, "the effects are cut off at byte " + from);
      }
      int kind = at.getInt(from + Abi.EFFECT_AT_KIND);
      int op = at.getInt(from + Abi.EFFECT_AT_OP);
      long length = Integer.toUnsignedLong(at.getInt(from + Abi.EFFECT_AT_LENGTH));
      if (kind < 1 || kind > Abi.EFFECT_VISIT_KEYS) {
        throw new GuestFault(Abi.Fault.BAD_EFFECT, "an effect of unknown kind " + Integer.toUnsignedString(kind));
      }
      if (op < 0 || op >= ops || op < last) {
        throw new GuestFault(Abi.Fault.BAD_OP, "an effect of op " + Integer.toUnsignedString(op) + " of " + ops + ", after one of op " + last);
      }
      if (((length + 7) & ~7L) > bytes.length - from - Abi.EFFECT_BYTES) {
        throw new GuestFault(Abi.Fault.BAD_EFFECTS, "an effect of " + length + " bytes ends beyond the effects");
      }
      int begin = from + Abi.EFFECT_BYTES;
      list.add(new Effect(kind, op, at.getInt(from + Abi.EFFECT_AT_AUX), Arrays.copyOfRange(bytes, begin, begin + (int) length)));
      last = op;
      from = begin + Frame.align((int) length);
    }
    return list;
  }
}
