package org.wasmstream.abi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Plays vectors of the ABI on modules: {@code java -jar abi-host.jar WASM-FOLDER VECTORS...}. abi/gen/CASES.md says what a
 * player does. A line for each vector that fails, and one at the end.
 */
public final class Vectors {
  private final Path modules;
  private final Map<String, Engine> loaded = new HashMap<>();
  private int played;
  private int failed;

  private Vectors(Path modules) {
    this.modules = modules;
  }

  public static void main(String[] arguments) throws IOException {
    Vectors all = new Vectors(Path.of(arguments[0]));
    for (String file : Arrays.asList(arguments).subList(1, arguments.length)) {
      all.file(Path.of(file));
    }
    System.out.println(all.played + " vectors, " + all.failed + " failed");
    System.exit(all.failed == 0 && all.played > 0 ? 0 : 1);
  }

  static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private static byte[] bytes(Object hex) {
    return HexFormat.of().parseHex((String) hex);
  }

  @SuppressWarnings("unchecked")
  private static List<Object> list(Object json) {
    return json == null ? List.of() : (List<Object>) json;
  }

  private static List<Integer> numbers(Object json) {
    List<Integer> out = new ArrayList<>();
    list(json).forEach(n -> out.add(((Double) n).intValue()));
    return out;
  }

  private void file(Path file) throws IOException {
    Map<?, ?> content = (Map<?, ?>) Json.read(Files.readString(file));
    Map<?, ?> manifest = (Map<?, ?>) content.get("manifest");
    List<Object> functions = manifest == null ? List.of() : list(manifest.get("functions"));
    for (Object json : list(content.get("vectors"))) {
      Map<?, ?> vector = (Map<?, ?>) json;
      for (Object module : list(vector.get("modules"))) {
        played++;
        String problem = play((String) module, vector, functions);
        if (problem != null) {
          failed++;
          System.out.println("FAILED  " + module + ": " + vector.get("name") + ": " + problem);
        }
      }
    }
  }

  /** Plays a vector: what is wrong, or null. */
  private String play(String module, Map<?, ?> vector, List<Object> functions) throws IOException {
    boolean refused = Boolean.TRUE.equals(vector.get("refused"));
    Engine engine = loaded.get(module);
    if (engine == null) {
      try {
        engine = Engine.load(Files.readAllBytes(modules.resolve(module + ".wasm")));
        loaded.put(module, engine);
      } catch (RefusedException e) {
        return refused ? null : "refused: " + e.getMessage();
      }
    }
    if (refused) {
      return "the module is taken";
    }
    int index = vector.get("function") == null ? 0 : ((Double) vector.get("function")).intValue();
    List<Object> declared = functions.isEmpty() ? List.of() : list(((Map<?, ?>) functions.get(index)).get("states"));
    int n = 0;
    List<Object> frames = list(vector.get("frames"));
    try {
      Player player = new Player(new Function(engine.new Guest(), index), new States(declared));
      for (Object frame : frames) {
        String problem = player.frame((Map<?, ?>) frame, vector.get("fault") != null && n == frames.size() - 1);
        if (problem != null) {
          return "frame " + n + ": " + problem;
        }
        n++;
      }
    } catch (GuestFault e) {
      boolean due = n == frames.size() - 1 && e.kind.name.equals(vector.get("fault"));
      String message = (String) vector.get("message");
      boolean told = message == null || String.valueOf(e.getMessage()).contains(message);
      return due && told ? null : "frame " + n + " ended in " + e.kind.name + ": " + e.getMessage();
    }
    return vector.get("fault") == null ? null : "it must end in the fault " + vector.get("fault");
  }

  /** Plays the frames of a vector. */
  private static final class Player {
    private final Function function;
    private final States states;
    private final Map<Integer, byte[]> held = new HashMap<>();

    Player(Function function, States states) {
      this.function = function;
      this.states = states;
      function.guest.states = states;
    }

    String frame(Map<?, ?> json, boolean faulty) throws GuestFault {
      List<Integer> cells = numbers(json.get("cells"));
      states.owners = numbers(json.get("owners"));
      states.windows = numbers(json.get("windows"));
      states.merged = list(json.get("merged")).stream().map(Vectors::numbers).toList();
      Frame frame = begin(bytes(json.get("frame")), cells);
      Function.Answer answer = function.perform(frame);
      if (faulty) {
        return null; // told by whoever expects the fault
      }
      List<Effects.Effect> effects = new ArrayList<>();
      for (Effects.Effect e : answer.effects()) {
        if (e.kind() == Abi.EFFECT_SET_SLOT) {
          held.put(cells.get(e.aux()), e.payload());
        } else if (e.kind() != Abi.EFFECT_TOUCH) {
          effects.add(e);
        }
      }
      for (int slot = 0; frame.stride > 0 && slot < cells.size(); slot++) {
        int at = frame.slotsOffset + slot * frame.stride;
        held.put(cells.get(slot), Arrays.copyOfRange(answer.after(), at, at + frame.stride));
      }
      List<Effects.Effect> must = Effects.read(bytes(json.get("effects")), frame.ops);
      for (int i = 0; i < Math.max(must.size(), effects.size()); i++) {
        if (i >= must.size() || i >= effects.size() || !must.get(i).same(effects.get(i))) {
          return "got " + effects + ", want " + must;
        }
      }
      return holds(list(json.get("holds")));
    }

    /** The frame with its slots as those of the same cells were left. */
    private Frame begin(byte[] bytes, List<Integer> cells) {
      Frame frame = new Frame(bytes);
      for (int slot = 0; slot < cells.size(); slot++) {
        byte[] content = held.get(cells.get(slot));
        if (content == null) {
          continue;
        }
        if (frame.stride > 0) {
          System.arraycopy(content, 0, bytes, frame.slotsOffset + slot * frame.stride, frame.stride);
          continue;
        }
        int entry = frame.slotsOffset + slot * Abi.SLOT_ENTRY_BYTES;
        Frame.view(bytes).putInt(entry, bytes.length).putInt(entry + 4, content.length);
        int end = bytes.length;
        bytes = Arrays.copyOf(bytes, end + Frame.align(content.length));
        System.arraycopy(content, 0, bytes, end, content.length);
        Frame.view(bytes).putInt(Abi.HEADER_AT_TOTAL_LENGTH, bytes.length);
      }
      return new Frame(bytes);
    }

    private String holds(List<Object> holds) {
      for (Object json : holds) {
        Map<?, ?> hold = (Map<?, ?>) json;
        List<byte[][]> are = new ArrayList<>();
        if (hold.get("cell") == null) {
          int owner = hold.get("owner") == null ? 0 : ((Double) hold.get("owner")).intValue();
          int state = hold.get("state") == null ? 0 : ((Double) hold.get("state")).intValue();
          are = states.entries(owner, state);
        } else {
          byte[] content = held.get(((Double) hold.get("cell")).intValue());
          if (content != null && content.length > 0 && content[0] != 3) {
            are.add(new byte[][] {new byte[0], content});
          }
        }
        List<Object> must = list(hold.get("entries"));
        boolean same = are.size() == must.size();
        for (int i = 0; same && i < must.size(); i++) {
          byte[] key = bytes(list(must.get(i)).get(0));
          byte[] value = bytes(list(must.get(i)).get(1));
          byte[] is = are.get(i)[1];
          // A slot may be wider than its row.
          same = Arrays.equals(key, are.get(i)[0]) && is.length >= value.length && Arrays.equals(Arrays.copyOf(value, is.length), is);
        }
        if (!same) {
          return "state " + hold + " is not held";
        }
      }
      return null;
    }
  }
}
