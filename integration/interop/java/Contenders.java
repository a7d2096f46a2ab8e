import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/**
 * Runs contenders for locks of Curator and of ZooKeeper's own recipes, as the tests of this folder tell it.
 *
 * <p>A line of input is a command for one contender: its name, a verb, arguments. Each contender has a thread of its own, since
 * Curator's locks belong to threads, and does its commands one after the other. Each command is answered by one line, when it
 * has been done: the name, then "ok" and what there is to say, or "failed" and why. The first line of output says which
 * libraries these are. The end of the input ends the program, whoever may be waiting.
 */
public final class Contenders {
    private Contenders() {}

    public static void main(String[] args) throws IOException {
        say("ready", curator("curator-recipes"), curator("curator-framework"), org.apache.zookeeper.Version.getVersion());
        Map<String, Contender> all = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            all.computeIfAbsent(words[0], Contender::new).todo(Arrays.copyOfRange(words, 1, words.length));
        }
        Runtime.getRuntime().halt(0);
    }

    /** Prints words as one line. */
    static void say(String... words) {
        System.out.println(String.join(" ", words).replace('\n', ' '));
        System.out.flush();
    }

    /** Returns the version of a jar of Curator, as it says itself: names of files may lie. */
    private static String curator(String artifact) throws IOException {
        String file = "/META-INF/maven/org.apache.curator/" + artifact + "/pom.properties";
        try (InputStream in = Contenders.class.getResourceAsStream(file)) {
            Properties properties = new Properties();
            properties.load(in);
            return properties.getProperty("version");
        }
    }
}
