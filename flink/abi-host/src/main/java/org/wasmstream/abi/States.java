package org.wasmstream.abi;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** List, map and broadcast states in memory, as simple as they can be. */
final class States implements StateCalls {
  private record Place(int owner, int state) {}

  private final boolean[] lists;
  private final String[] scopes;
  private final Map<Place, TreeMap<byte[], byte[]>> maps = new HashMap<>();
  private final Map<Place, List<byte[]>> elements = new HashMap<>();
  /** Whose states the ops of the frame have: of a key, of a window, of the windows that were merged into it. */
  List<Integer> owners = List.of();
  List<Integer> windows = List.of();
  List<List<Integer>> merged = List.of();

  /** Makes the states that a function's manifest has, each a map of its JSON. */
  States(List<Object> states) {
    lists = new boolean[states.size()];
    scopes = new String[states.size()];
    for (int i = 0; i < lists.length; i++) {
      Map<?, ?> state = (Map<?, ?>) states.get(i);
      lists[i] = "list".equals(state.get("kind"));
      scopes[i] = state.get("scope") == null ? "key" : (String) state.get("scope");
    }
  }

  /** What a state of an owner holds: pairs of key and value. */
  List<byte[][]> entries(int owner, int state) {
    List<byte[][]> all = new ArrayList<>();
    Place place = new Place(owner, state);
    elements.getOrDefault(place, List.of()).forEach(value -> all.add(new byte[][] {new byte[0], value}));
    maps.getOrDefault(place, new TreeMap<>(Arrays::compareUnsigned)).forEach((key, value) -> all.add(new byte[][] {key, value}));
    return all;
  }

  /** The state of a call: above its index stands which of the merged windows it is about, counted from 1. */
  private Place place(int op, int call) throws GuestFault {
    int state = call & 0xFFFF;
    int window = call >>> 16;
    boolean ofWindow = state < lists.length && scopes[state].equals("window");
    List<Integer> of = ofWindow ? windows : owners;
    boolean isMerged = window > 0 && ofWindow && op >= 0 && op < merged.size() && window <= merged.get(op).size();
    if (state >= lists.length || op < 0 || op >= of.size() || window > 0 && !isMerged) {
      throw new GuestFault(Abi.Fault.BAD_STATE, "a call on state " + call + " for op " + op);
    }
    if (isMerged) {
      return new Place(merged.get(op).get(window - 1), state);
    }
    return new Place(scopes[state].equals("broadcast") ? 0 : of.get(op), state);
  }

  private TreeMap<byte[], byte[]> map(Place place) {
    return maps.computeIfAbsent(place, p -> new TreeMap<>(Arrays::compareUnsigned));
  }

  @Override
  public byte[] get(int op, int state, byte[] key) throws GuestFault {
    return map(place(op, state)).get(key);
  }

  @Override
  public void put(int op, int state, byte[] key, byte[] value) throws GuestFault {
    Place place = place(op, state);
    if (lists[place.state]) {
      elements.computeIfAbsent(place, p -> new ArrayList<>()).add(value);
    } else {
      map(place).put(key, value);
    }
  }

  @Override
  public void delete(int op, int state, byte[] key) throws GuestFault {
    Place place = place(op, state);
    if (key.length > 0) {
      map(place).remove(key);
      return;
    }
    maps.remove(place);
    elements.remove(place);
  }

  @Override
  public int scan(int op, int state, byte[] after, byte[] into) throws GuestFault {
    Place place = place(op, state);
    ByteBuffer to = Frame.view(into);
    long position = 0;
    for (byte[][] entry : entries(place.owner, place.state)) {
      byte[] key = entry[0];
      if (lists[place.state]) {
        key = new byte[8];
        Frame.view(key).putLong(++position);
        if (after.length == 8 && position <= Frame.view(after).getLong()) {
          continue;
        }
      } else if (after.length > 0 && Arrays.compareUnsigned(key, after) <= 0) {
        continue;
      }
      int size = 8 + Frame.align(key.length) + Frame.align(entry[1].length);
      if (size > to.remaining()) {
        return to.position() == 0 ? -size : to.position();
      }
      to.putInt(key.length).putInt(entry[1].length);
      to.put(Arrays.copyOf(key, Frame.align(key.length))).put(Arrays.copyOf(entry[1], Frame.align(entry[1].length)));
    }
    return to.position();
  }
}
