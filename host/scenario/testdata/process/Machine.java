package oracle;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReadOnlyBroadcastState;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.TimeDomain;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** The machine of machine_test.go as Flink's process functions: it does what records tell it. */
final class Machine implements Serializable {
    static final Schema OUT = schema("k STRING,what STRING,n BIGINT,x BIGINT");
    static final Schema SIDE = schema("k STRING,n BIGINT");
    static final OutputTag<Row> SIDE_TAG = new OutputTag<>("side", SIDE.typeInfo());
    static final MapStateDescriptor<Long, Long> SHARED = new MapStateDescriptor<>("b", Types.LONG, Types.LONG);

    private final ValueStateDescriptor<Long> vOf = new ValueStateDescriptor<>("v", Types.LONG);
    private final ValueStateDescriptor<Long> tOf = new ValueStateDescriptor<>("t", Types.LONG);
    private final MapStateDescriptor<Long, Long> mOf = new MapStateDescriptor<>("m", Types.LONG, Types.LONG);
    private final ListStateDescriptor<Tuple2<Long, Long>> lOf =
            new ListStateDescriptor<>("l", Types.TUPLE(Types.LONG, Types.LONG));
    private transient ValueState<Long> v;
    private transient ValueState<Long> t;
    private transient MapState<Long, Long> m;
    private transient ListState<Tuple2<Long, Long>> l;

    private static Schema schema(String text) {
        Schema s = new Schema(java.util.List.of(), java.util.List.of());
        for (String column : text.split(",")) {
            s = s.plus(column.split(" ")[0], Schema.Type.parse(column.split(" ")[1]));
        }
        return s;
    }

    Machine(String name) {
        if (!name.startsWith("ttl")) {
            return;
        }
        Duration ttl = name.equals("ttl-ever") ? Duration.ofDays(106751991167L) : Duration.ofMillis(100);
        StateTtlConfig.Builder b = StateTtlConfig.newBuilder(ttl);
        if (name.equals("ttl-read")) {
            b.updateTtlOnReadAndWrite();
        }
        if (name.equals("ttl-once")) {
            b.returnExpiredIfNotCleanedUp();
        }
        for (StateDescriptor<?, ?> d : new StateDescriptor<?, ?>[] {vOf, tOf, mOf, lOf}) {
            d.enableTimeToLive(b.build());
        }
    }

    void open(RuntimeContext c) {
        v = c.getState(vOf);
        t = c.getState(tOf);
        m = c.getMapState(mOf);
        l = c.getListState(lOf);
    }

    interface Side {
        void put(OutputTag<Row> tag, Row row);
    }

    private static long orZero(Long v) {
        return v == null ? 0 : v;
    }

    private static int compare(long a, long b) {
        return Arrays.compareUnsigned(bytes(a), bytes(b));
    }

    private static byte[] bytes(long v) {
        return ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(v).array();
    }

    void record(Row in, String k, TimerService timers, Collector<Row> out, Side side) throws Exception {
        String what = (String) in.getField(1);
        long n = orZero((Long) in.getField(2)), x = orZero((Long) in.getField(3));
        switch (what) {
            case "set" -> v.update(n);
            case "clear" -> v.clear();
            case "add" -> v.update(orZero(v.value()) + n);
            case "get", "peek" -> out.collect(Row.of(k, "get", v.value(), null));
            case "write" -> t.update(16 + ("a text that is long ".length() + String.valueOf(n).length() + 7L) / 8 * 8);
            case "read" -> out.collect(Row.of(k, "read", orZero(t.value()), null));
            case "event timer" -> timers.registerEventTimeTimer(n);
            case "clock timer" -> timers.registerProcessingTimeTimer(n);
            case "no event timer" -> timers.deleteEventTimeTimer(n);
            case "no clock timer" -> timers.deleteProcessingTimeTimer(n);
            case "side" -> side.put(SIDE_TAG, Row.of(k, n));
            case "time" -> out.collect(Row.of(k, "time", timers.currentWatermark(), timers.currentProcessingTime()));
            case "put" -> m.put(n, x);
            case "look" -> out.collect(Row.of(k, "look", n, m.get(n)));
            case "del" -> m.remove(n);
            case "del all" -> m.clear();
            case "scan" -> {
                for (Map.Entry<Long, Long> e : m.entries()) {
                    if (x == 0 || compare(e.getKey(), n) > 0) {
                        out.collect(Row.of(k, "scan", e.getKey(), e.getValue()));
                    }
                }
            }
            case "push" -> {
                long last = 0;
                for (Tuple2<Long, Long> e : l.get()) {
                    last = e.f0;
                }
                l.add(Tuple2.of(last + 1, n));
            }
            case "list" -> {
                for (Tuple2<Long, Long> e : l.get()) {
                    out.collect(Row.of(k, "list", e.f0, e.f1));
                }
            }
            case "empty" -> l.clear();
            default -> throw new BadInput("the machine cannot " + what);
        }
    }

    void timer(long at, TimeDomain domain, String k, TimerService timers, Collector<Row> out) throws Exception {
        boolean event = domain == TimeDomain.EVENT_TIME;
        long value = orZero(v.value());
        out.collect(Row.of(k, event ? "event" : "clock", at, value));
        if (value <= 0) {
            return;
        }
        v.update(value - 1);
        if (event) {
            timers.registerEventTimeTimer(at + 3);
            timers.deleteEventTimeTimer(at + 1);
        } else {
            timers.registerProcessingTimeTimer(at + 3);
            timers.deleteProcessingTimeTimer(at + 1);
        }
    }

    static final class One extends KeyedProcessFunction<Row, Row, Row> {
        private final Machine machine;

        One(Machine machine) {
            this.machine = machine;
        }

        @Override
        public void open(OpenContext c) {
            machine.open(getRuntimeContext());
        }

        @Override
        public void processElement(Row in, Context c, Collector<Row> out) throws Exception {
            machine.record(in, (String) c.getCurrentKey().getField(0), c.timerService(), out, c::output);
        }

        @Override
        public void onTimer(long at, OnTimerContext c, Collector<Row> out) throws Exception {
            machine.timer(at, c.timeDomain(), (String) c.getCurrentKey().getField(0), c.timerService(), out);
        }
    }

    static final class Two extends KeyedCoProcessFunction<Row, Row, Row, Row> {
        private final Machine machine;
        private final int[] second; // where the second input has the machine's columns

        Two(Machine machine, Schema right) {
            this.machine = machine;
            this.second = OUT.names().stream().mapToInt(right::index).toArray();
        }

        @Override
        public void open(OpenContext c) {
            machine.open(getRuntimeContext());
        }

        @Override
        public void processElement1(Row in, Context c, Collector<Row> out) throws Exception {
            machine.record(in, (String) c.getCurrentKey().getField(0), c.timerService(), out, c::output);
        }

        @Override
        public void processElement2(Row in, Context c, Collector<Row> out) throws Exception {
            machine.record(Row.project(in, second), (String) c.getCurrentKey().getField(0), c.timerService(), out, c::output);
        }

        @Override
        public void onTimer(long at, OnTimerContext c, Collector<Row> out) throws Exception {
            machine.timer(at, c.timeDomain(), (String) c.getCurrentKey().getField(0), c.timerService(), out);
        }
    }

    static final class Spread extends KeyedBroadcastProcessFunction<Row, Row, Row, Row> {
        private final Machine machine;

        Spread(Machine machine) {
            this.machine = machine;
        }

        @Override
        public void open(OpenContext c) {
            machine.open(getRuntimeContext());
        }

        @Override
        public void processElement(Row in, ReadOnlyContext c, Collector<Row> out) throws Exception {
            String k = (String) c.getCurrentKey().getField(0);
            if (in.getField(1).equals("shared")) {
                ReadOnlyBroadcastState<Long, Long> b = c.getBroadcastState(SHARED);
                out.collect(Row.of(k, "shared", in.getField(2), b.get((Long) in.getField(2))));
                return;
            }
            machine.record(in, k, c.timerService(), out, c::output);
        }

        @Override
        public void processBroadcastElement(Row in, Context c, Collector<Row> out) throws Exception {
            BroadcastState<Long, Long> b = c.getBroadcastState(SHARED);
            Long n = (Long) in.getField(2);
            switch ((String) in.getField(1)) {
                case "share" -> b.put(n, (Long) in.getField(3));
                case "unshare" -> b.remove(n);
                case "add shared" -> {
                    // Each key that has any state, once: a visit is of those that have one of them.
                    Set<Row> visited = new HashSet<>();
                    long more = orZero(b.get(n));
                    c.applyToKeyedState(machine.vOf, (key, s) -> visit(visited, key, more));
                    c.applyToKeyedState(machine.mOf, (key, s) -> visit(visited, key, more));
                    c.applyToKeyedState(machine.lOf, (key, s) -> visit(visited, key, more));
                    c.applyToKeyedState(machine.tOf, (key, s) -> visit(visited, key, more));
                }
                default -> throw new BadInput("the machine cannot broadcast " + in.getField(1));
            }
        }

        private void visit(Set<Row> visited, Row key, long more) throws Exception {
            if (visited.add(key)) {
                machine.v.update(orZero(machine.v.value()) + more);
            }
        }

        @Override
        public void onTimer(long at, OnTimerContext c, Collector<Row> out) throws Exception {
            machine.timer(at, c.timeDomain(), (String) c.getCurrentKey().getField(0), c.timerService(), out);
        }
    }
}
