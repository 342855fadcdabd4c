package org.wasmstream.abi;

import com.dylibso.chicory.compiler.InterpreterFallback;
import com.dylibso.chicory.compiler.MachineFactoryCompiler;
import com.dylibso.chicory.runtime.HostFunction;
import com.dylibso.chicory.runtime.ImportValues;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Machine;
import com.dylibso.chicory.runtime.Memory;
import com.dylibso.chicory.runtime.TrapException;
import com.dylibso.chicory.wasi.WasiOptions;
import com.dylibso.chicory.wasi.WasiPreview1;
import com.dylibso.chicory.wasm.ChicoryException;
import com.dylibso.chicory.wasm.Parser;
import com.dylibso.chicory.wasm.WasmModule;
import com.dylibso.chicory.wasm.types.FunctionType;
import com.dylibso.chicory.wasm.types.MemoryLimits;
import com.dylibso.chicory.wasm.types.ValType;
import java.io.OutputStream;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;

/** The Wasm engine: the only class that knows which one it is. It compiles modules to bytecode of the JVM. */
final class Engine {
  private static final int PAGES_MAX = 1024;
  /** What the clocks say, always. */
  private static final Instant NOW = Instant.ofEpochSecond(1_000_000_000);

  private final WasmModule module;
  private final Function<Instance, Machine> code;

  private Engine(WasmModule module, Function<Instance, Machine> code) {
    this.module = module;
    this.code = code;
  }

  /** Compiles a module that has the exports of a guest. */
  static Engine load(byte[] wasm) throws RefusedException {
    try {
      WasmModule module = Parser.parse(wasm);
      Set<String> exports = new HashSet<>();
      for (int i = 0; i < module.exportSection().exportCount(); i++) {
        exports.add(module.exportSection().getExport(i).name());
      }
      for (String name : List.of(Abi.EXPORT_MARKER, Abi.EXPORT_IN, Abi.EXPORT_CALL, Abi.EXPORT_MEMORY)) {
        if (!exports.contains(name)) {
          throw new RefusedException("it does not export " + name, null);
        }
      }
      // A function that is too large for a method of the JVM is interpreted.
      return new Engine(module, MachineFactoryCompiler.builder(module).withInterpreterFallback(InterpreterFallback.SILENT).compile());
    } catch (ChicoryException e) {
      throw new RefusedException(e.getMessage(), e);
    }
  }

  /** What ends a guest's call from within a host function. */
  private static final class Stop extends RuntimeException {
    private static final long serialVersionUID = 1;

    final transient GuestFault fault;

    Stop(GuestFault fault) {
      super(fault);
      this.fault = fault;
    }
  }

  /** One guest with a memory of its own. */
  final class Guest {
    /** Answers calls on states; null: there are none. */
    StateCalls states;

    private final Instance instance;

    Guest() throws GuestFault {
      Instance[] made = new Instance[1];
      run(() -> {
        Instance.Builder builder = Instance.builder(module).withInitialize(true).withStart(false)
            .withMachineFactory(code).withImportValues(imports());
        made[0] = module.memorySection().isEmpty() ? builder.build() : builder.withMemoryLimits(limits()).build();
        if (exports(Abi.EXPORT_INITIALIZE)) {
          made[0].export(Abi.EXPORT_INITIALIZE).apply();
        }
        return 0;
      });
      instance = made[0];
    }

    /** Bytes of memory. */
    long size() {
      return (long) instance.memory().pages() * Memory.PAGE_SIZE;
    }

    /** A copy of a range that lies in memory. */
    byte[] read(int pointer, int length) {
      return length == 0 ? new byte[0] : instance.memory().readBytes(pointer, length);
    }

    /** Writes bytes to where there is room for them. */
    void write(int pointer, byte[] bytes) {
      instance.memory().write(pointer, bytes);
    }

    /** Calls an export. */
    long call(String export, long... parameters) throws GuestFault {
      return run(() -> {
        long[] results = instance.export(export).apply(parameters);
        return results == null || results.length == 0 ? 0 : results[0];
      });
    }

    private boolean exports(String name) {
      for (int i = 0; i < module.exportSection().exportCount(); i++) {
        if (module.exportSection().getExport(i).name().equals(name)) {
          return true;
        }
      }
      return false;
    }

    private MemoryLimits limits() {
      MemoryLimits own = module.memorySection().get().getMemory(0).limits();
      return new MemoryLimits(own.initialPages(), Math.max(own.initialPages(), Math.min(own.maximumPages(), PAGES_MAX)));
    }

    private ImportValues imports() {
      WasiOptions options = WasiOptions.builder().withClock(Clock.fixed(NOW, ZoneOffset.UTC)).withRandom(new Random(0))
          .withStdout(OutputStream.nullOutputStream()).withStderr(OutputStream.nullOutputStream()).build();
      ImportValues.Builder all = ImportValues.builder().addFunction(WasiPreview1.builder().withOptions(options).build().toHostFunctions());
      all.addFunction(
          host(Abi.IMPORT_LOG, 3, false, a -> 0),
          host(Abi.IMPORT_FAIL, 2, false, a -> {
            throw new GuestFault(Abi.Fault.FAILED, new String(part(a[0], a[1]), java.nio.charset.StandardCharsets.UTF_8));
          }),
          host(Abi.IMPORT_STATE_GET, 6, true, a -> {
            byte[] value = states().get((int) a[0], (int) a[1], part(a[2], a[3]));
            if (value != null && value.length <= Integer.toUnsignedLong((int) a[5])) {
              part(a[4], a[5]);
              write((int) a[4], value);
            }
            return value == null ? -1 : value.length;
          }),
          host(Abi.IMPORT_STATE_PUT, 6, false, a -> {
            states().put((int) a[0], (int) a[1], part(a[2], a[3]), part(a[4], a[5]));
            return 0;
          }),
          host(Abi.IMPORT_STATE_DELETE, 4, false, a -> {
            states().delete((int) a[0], (int) a[1], part(a[2], a[3]));
            return 0;
          }),
          host(Abi.IMPORT_STATE_SCAN, 6, true, a -> {
            byte[] into = part(a[4], a[5]);
            int n = states().scan((int) a[0], (int) a[1], part(a[2], a[3]), into);
            write((int) a[4], into);
            return n;
          }));
      return all.build();
    }

    private StateCalls states() throws GuestFault {
      if (states == null) {
        throw new GuestFault(Abi.Fault.BAD_STATE, "a call on a state, and the function has none");
      }
      return states;
    }

    /** A copy of a range that the guest names. */
    private byte[] part(long pointer, long length) throws GuestFault {
      long from = Integer.toUnsignedLong((int) pointer);
      long bytes = Integer.toUnsignedLong((int) length);
      if (bytes > 0 && from + bytes > size()) {
        throw new GuestFault(Abi.Fault.BAD_POINTER, bytes + " bytes at " + from + ", outside memory of " + size() + " bytes");
      }
      return read((int) from, (int) bytes);
    }
  }

  /** A host function's code. */
  private interface Code {
    long run(long[] parameters) throws GuestFault;
  }

  private static HostFunction host(String name, int parameters, boolean answers, Code code) {
    List<ValType> takes = new ArrayList<>(Collections.nCopies(parameters, ValType.I32));
    List<ValType> gives = answers ? List.of(ValType.I32) : List.of();
    return new HostFunction(Abi.IMPORT_MODULE, name, FunctionType.of(takes, gives), (instance, a) -> {
      try {
        long result = code.run(a);
        return answers ? new long[] {result} : null;
      } catch (GuestFault e) {
        throw new Stop(e);
      }
    });
  }

  /** Guest code. */
  private interface Body {
    long run();
  }

  /** Runs guest code, and makes what ends it a fault. */
  private static long run(Body body) throws GuestFault {
    try {
      return body.run();
    } catch (Stop e) {
      throw e.fault;
    } catch (StackOverflowError e) {
      throw new GuestFault(Abi.Fault.TOO_DEEP, "calls are nested too deeply");
    } catch (TrapException e) {
      throw new GuestFault(Abi.Fault.TRAP, e.getMessage());
    } catch (ChicoryException e) {
      throw new GuestFault(Abi.Fault.TRAP, String.valueOf(e.getMessage()));
    }
  }
}
