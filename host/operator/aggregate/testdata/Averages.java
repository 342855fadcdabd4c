import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Random;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.DecimalDataUtils;

/**
 * Prints averages.txt: what Flink's own division makes of sums. Run it with
 * flink-table-common and flink-table-runtime 2.3.0 and what they need on the
 * class path: java -cp ... Averages.java > averages.txt
 */
public class Averages {
    static void print(int scale, BigInteger sum, long n) {
        DecimalData d = DecimalDataUtils.divide(
                DecimalData.fromBigDecimal(new BigDecimal(sum, scale), 38, scale),
                DecimalData.fromBigDecimal(BigDecimal.valueOf(n), 19, 0),
                38, Math.max(6, scale));
        System.out.println(scale + " " + sum + " " + n + " " + (d == null ? "NULL" : d.toBigDecimal().unscaledValue()));
    }

    public static void main(String[] args) {
        Random r = new Random(7);
        for (int i = 0; i < 300; i++) {
            int scale = i % 3 == 0 ? r.nextInt(39) : r.nextInt(8);
            BigInteger sum = new BigInteger(126, r).mod(BigInteger.TEN.pow(1 + r.nextInt(i % 2 == 0 ? 38 : 12)));
            print(scale, r.nextBoolean() ? sum.negate() : sum, r.nextInt(3) > 0 ? 1 + r.nextInt(16) : 1 + (r.nextLong() >>> 1 >>> r.nextInt(62)));
        }
        // Exact halves, on both sides of zero.
        for (int scale : new int[] {0, 5, 6, 9}) {
            for (long v : new long[] {1, 3, 5, 999}) {
                for (long n : new long[] {2, 8, 2_000_000, 2_000_000_000_000L}) {
                    print(scale, BigInteger.valueOf(v), n);
                    print(scale, BigInteger.valueOf(-v), n);
                }
            }
        }
        // Just below a half, where rounding twice shows.
        for (int i = 0; i < 8; i++) {
            BigInteger m = BigInteger.valueOf(4_000_000_000_000_000_000L + (r.nextLong() >>> 1) % 500_000_000_000_000_000L);
            BigInteger n = m.shiftLeft(1).add(BigInteger.ONE);
            for (int digits : new int[] {0, 17, 18, 19}) {
                print(6 + i, BigInteger.TEN.pow(digits).add(BigInteger.valueOf(r.nextInt(1000))).multiply(n).add(m), n.longValueExact());
            }
        }
        // No room before the point.
        for (String v : new String[] {"99999999999999999999999999999999", "-99999999999999999999999999999999",
                "99999999999999999999999999999999999999", "9999999999999999999999999999999999999"}) {
            for (long n : new long[] {1, 3, 1000}) {
                for (int scale : new int[] {0, 3, 5, 6, 38}) {
                    print(scale, new BigInteger(v), n);
                }
            }
        }
    }
}
