package joins;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.flink.api.common.functions.AbstractRichFunction;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.KeyedTwoInputStreamOperatorTestHarness;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.runtime.generated.GeneratedJoinCondition;
import org.apache.flink.table.runtime.generated.JoinCondition;
import org.apache.flink.table.runtime.operators.join.FlinkJoinType;
import org.apache.flink.table.runtime.operators.join.KeyedCoProcessOperatorWithWatermarkDelay;
import org.apache.flink.table.runtime.operators.join.interval.IntervalJoinFunction;
import org.apache.flink.table.runtime.operators.join.interval.RowTimeIntervalJoin;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;

/** Writes histories without late records, each with the rows that the interval join of Flink SQL makes of it. */
public final class Main {
    private static final LogicalType TEXT = new VarCharType(VarCharType.MAX_LENGTH);
    private static final LogicalType LONG = new BigIntType();
    private static final RowType SIDE = RowType.of(TEXT, LONG, LONG);
    private static final RowType PAIR = RowType.of(TEXT, LONG, LONG, TEXT, LONG, LONG);
    private static final RowType KEY = RowType.of(TEXT);
    private static final FlinkJoinType[] TYPES = {
        FlinkJoinType.INNER, FlinkJoinType.LEFT, FlinkJoinType.RIGHT, FlinkJoinType.FULL
    };

    public static void main(String[] args) throws Exception {
        Random random = new Random(Long.parseLong(args[0]));
        int histories = Integer.parseInt(args[1]);
        for (int i = 0; i < histories; i++) {
            int lower = random.nextInt(21) - 10;
            history(random, TYPES[i % TYPES.length], lower, lower + random.nextInt(15));
        }
    }

    private static void history(Random random, FlinkJoinType type, int lower, int upper) throws Exception {
        System.out.printf("join %s %d %d%n", type.name().toLowerCase(), lower, upper);
        // Flink bounds the left time by the right one, a job the right time by the left one.
        RowTimeIntervalJoin join = new RowTimeIntervalJoin(type, -upper, -lower, 0, 0,
                InternalTypeInfo.of(SIDE), InternalTypeInfo.of(SIDE),
                new IntervalJoinFunction(new Always(), InternalTypeInfo.of(PAIR), new boolean[] {false}), 2, 2);
        RowDataSerializer keys = new RowDataSerializer(KEY);
        KeySelector<RowData, RowData> key = row -> keys.toBinaryRow(GenericRowData.of(row.getString(0))).copy();
        try (var harness = new KeyedTwoInputStreamOperatorTestHarness<RowData, RowData, RowData, RowData>(
                new KeyedCoProcessOperatorWithWatermarkDelay<>(join, join.getMaxOutputDelay()),
                key, key, InternalTypeInfo.of(KEY))) {
            harness.setup(new RowDataSerializer(PAIR));
            harness.open();
            long watermark = 0;
            for (int v = 0, n = 5 + random.nextInt(60); v < n; v++) {
                if (random.nextInt(4) == 0) {
                    watermark += random.nextInt(12);
                    System.out.printf("watermark %d%n", watermark);
                    harness.processWatermark1(new Watermark(watermark));
                    harness.processWatermark2(new Watermark(watermark));
                }
                String k = String.valueOf((char) ('a' + random.nextInt(3)));
                long t = watermark + 1 + random.nextInt(25);
                boolean left = random.nextBoolean();
                System.out.printf("%s %s %d %d%n", left ? "left" : "right", k, v, t);
                StreamRecord<RowData> record = new StreamRecord<>(
                        GenericRowData.of(StringData.fromString(k), (long) v, t), t);
                if (left) {
                    harness.processElement1(record);
                } else {
                    harness.processElement2(record);
                }
            }
            harness.processWatermark1(Watermark.MAX_WATERMARK);
            harness.processWatermark2(Watermark.MAX_WATERMARK);
            List<String> rows = new ArrayList<>();
            for (Object out : harness.getOutput()) {
                if (out instanceof StreamRecord<?> record) {
                    RowData row = (RowData) record.getValue();
                    rows.add("row " + number(row, 1) + " " + number(row, 4));
                }
            }
            rows.stream().sorted().forEach(System.out::println);
        }
    }

    private static String number(RowData row, int column) {
        return row.isNullAt(column) ? "null" : Long.toString(row.getLong(column));
    }

    /** What stands where SQL's generated class would: no condition beside the key and the times. */
    private static final class Always extends GeneratedJoinCondition {
        Always() {
            super("", "", new Object[0]);
        }

        @Override
        public JoinCondition newInstance(ClassLoader loader) {
            return new Holds();
        }
    }

    private static final class Holds extends AbstractRichFunction implements JoinCondition {
        @Override
        public boolean apply(RowData left, RowData right) {
            return true;
        }
    }
}
