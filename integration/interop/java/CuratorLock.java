import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;

/** A lock of Curator, with a client of its own. */
abstract class CuratorLock extends Lock {
    private static final int SESSION_TIMEOUT_MS = 10_000;
    private static final int RETRIES = 3;
    private static final int RETRY_PAUSE_MS = 100;

    private final CuratorFramework client;

    CuratorLock(String servers) throws InterruptedException {
        client = CuratorFrameworkFactory.newClient(
                servers, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS, new RetryNTimes(RETRIES, RETRY_PAUSE_MS));
        client.start();
        client.blockUntilConnected();
    }

    @Override
    CuratorFramework framework() {
        return client;
    }

    @Override
    long session() throws Exception {
        return client.getZookeeperClient().getZooKeeper().getSessionId();
    }

    /** Takes the lock n times, for writing. */
    @Override
    String rounds(int n, Section section, String mode) throws Exception {
        for (int i = 0; i < n; i++) {
            acquire(false);
            inside(section);
            release();
        }
        return section.result();
    }

    /** Does what the lock is held for. */
    void inside(Section section) throws Exception {
        section.write();
    }

    @Override
    void close() {
        client.close();
    }
}
