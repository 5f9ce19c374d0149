package store;
import static java.util.Map.of;
import java.util.*;

/** A key. */
@Deprecated(since = "1")
public final class Key<T extends Comparable<T>> implements Store {
    public static final int LIMIT = 1_000, OTHER = 2;
    private String text = """
        raw "text" // not a comment
        """;
    enum Kind { A { int x() { return 1; } }, B; abstract int x(); }
    record Point(int x, int y) { Point { if (x < 0) throw new IllegalArgumentException("'"); } }
    @interface Note { String value() default "x"; }
    public Key(T... values) throws Exception { this.text = switch (values.length) { case 0 -> "none"; default -> { yield "x"; } }; }
    @Override public <R> R read(Function<? super T, R> f) { return f.apply((T) (Object) 'c'); }
    static { Runnable r = () -> { class Local { void m() {} } }; }
}
interface Store { int SIZE = 3; default void close() {} }
