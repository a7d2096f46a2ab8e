import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** One contender: a session, a lock object, and the thread that uses both. */
final class Contender implements Runnable {
    private final String name;
    private final BlockingQueue<String[]> commands = new LinkedBlockingQueue<>();
    private Lock lock;

    Contender(String name) {
        this.name = name;
        Thread thread = new Thread(this, name);
        thread.setDaemon(true);
        thread.start();
    }

    void todo(String[] command) {
        commands.add(command);
    }

    @Override
    public void run() {
        while (true) {
            try {
                String[] command = commands.take();
                Contenders.say(name, "ok", answer(command[0], Arrays.asList(command).subList(1, command.length)));
            } catch (Exception | Error e) {
                Contenders.say(name, "failed", e.toString());
            }
        }
    }

    /** Does one command. */
    private String answer(String verb, List<String> args) throws Exception {
        switch (verb) {
            case "open":
                lock = open(args.get(0), args.get(1), args.get(2), name);
                return Long.toString(lock.session());
            case "lock":
                lock.acquire(Boolean.parseBoolean(args.get(0)));
                return "";
            case "downgrade":
                lock.downgrade();
                return "";
            case "release":
                lock.release();
                return "";
            case "loop":
                lock.loop(Integer.parseInt(args.get(0)));
                return "";
            case "rounds":
                return lock.rounds(Integer.parseInt(args.get(0)), new Section(lock.framework(), args.get(1), name), args.get(2));
            case "revocable":
                lock.makeRevocable();
                return "";
            case "revoked":
                lock.awaitRevocation();
                return "";
            case "revoke":
                lock.revoke(args.get(0));
                return "";
            case "leader":
                return lock.leader();
            case "participants":
                return lock.participants();
            case "close":
                lock.close();
                return "";
            default:
                throw new IllegalArgumentException("unknown command " + verb);
        }
    }

    /** Opens a session and makes a lock object of a kind. A semaphore's has the number of permits behind a colon. */
    private static Lock open(String kind, String servers, String path, String id) throws Exception {
        if (kind.startsWith("semaphore:")) {
            return new CuratorSemaphore(servers, path, Integer.parseInt(kind.substring("semaphore:".length())));
        }
        switch (kind) {
            case "mutex":
                return new CuratorMutex(servers, path);
            case "rw":
                return new CuratorReadWrite(servers, path);
            case "semaphoremutex":
                return new CuratorSemaphoreMutex(servers, path);
            case "latch":
                return new CuratorLatch(servers, path, id);
            case "selector":
                return new CuratorSelector(servers, path, id);
            case "writelock":
                return new RecipesWriteLock(servers, path);
            default:
                throw new IllegalArgumentException("unknown kind of lock " + kind);
        }
    }
}
