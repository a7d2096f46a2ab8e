import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException.NodeExistsException;
import org.apache.zookeeper.data.Stat;

/**
 * What the lock protects: a counter that is read and written without looking at its version, so that an overlap of two
 * writers loses an increment, and znodes by which those inside see each other. The tests have the same section in Go.
 *
 * <p>The counter's data are its value and the kind of who has written it: its name without the number.
 */
final class Section {
    /** How often who has a permit looks for others: it takes them some requests to follow. */
    private static final int LOOKS = 20;

    private final CuratorFramework client;
    private final String kind;
    private final String counter;
    private final String inside;
    private final String readers;
    private final String self;
    private int value;
    private int increments;
    private int changes;
    private int most;

    Section(CuratorFramework client, String root, String name) {
        this.client = client;
        kind = kindOf(name);
        counter = root + "/counter";
        inside = root + "/inside";
        readers = root + "/readers";
        self = readers + "/" + name;
    }

    /** Counts, and fails when anybody else is inside. */
    void write() throws Exception {
        try {
            client.create().forPath(inside);
        } catch (NodeExistsException e) {
            throw new IllegalStateException("a writer enters while another is inside", e);
        }
        noReaders();
        String[] words = text(new Stat()).split(" ");
        value = Integer.parseInt(words[0]) + 1;
        client.setData().forPath(counter, own().getBytes(StandardCharsets.UTF_8));
        increments++;
        if (!words[1].equals(kind)) {
            changes++;
        }
        noReaders();
        client.delete().forPath(inside);
    }

    /** Tells writers that a reader is inside; read and readOwn end that. */
    void enterShared() throws Exception {
        client.create().forPath(self);
    }

    /** Fails when the counter changes, or a writer is inside. */
    void read() throws Exception {
        Stat first = new Stat();
        Stat second = new Stat();
        String before = text(first);
        noWriter();
        String after = text(second);
        if (!before.equals(after) || first.getMzxid() != second.getMzxid()) {
            throw new IllegalStateException("the counter changed under a reader from " + before + " to " + after);
        }
        noWriter();
        client.delete().forPath(self);
    }

    /** The same, for who has just written and not let go. */
    void readOwn() throws Exception {
        String now = text(new Stat());
        if (!now.equals(own())) {
            throw new IllegalStateException("the counter is " + now + " after a downgrade at " + own());
        }
        read();
    }

    /** Counts those inside, of whom there may be as many as there are permits. */
    void share(int permits) throws Exception {
        enterShared();
        boolean met = false;
        int inside = 0;
        for (int i = 0; i < LOOKS && inside < permits; i++) {
            List<String> all = client.getChildren().forPath(readers);
            inside = all.size();
            if (inside > permits) {
                throw new IllegalStateException(all + " are inside with " + permits + " permits");
            }
            most = Math.max(most, inside);
            met |= all.stream().anyMatch(other -> !kindOf(other).equals(kind));
        }
        increments++;
        if (met) {
            changes++;
        }
        client.delete().forPath(self);
    }

    /**
     * How often it has counted, how often another kind had done so just before, or was inside with a permit, and how many were
     * inside at most.
     */
    String result() {
        return increments + " " + changes + " " + most;
    }

    private static String kindOf(String name) {
        return name.substring(0, name.lastIndexOf('-'));
    }

    private void noReaders() throws Exception {
        List<String> others = client.getChildren().forPath(readers);
        if (!others.isEmpty()) {
            throw new IllegalStateException("a writer is inside with the readers " + others);
        }
    }

    private void noWriter() throws Exception {
        if (client.checkExists().forPath(inside) != null) {
            throw new IllegalStateException("a reader is inside with a writer");
        }
    }

    private String text(Stat stat) throws Exception {
        return new String(client.getData().storingStatIn(stat).forPath(counter), StandardCharsets.UTF_8);
    }

    /** What the counter's data are after a write. */
    private String own() {
        return value + " " + kind;
    }
}
