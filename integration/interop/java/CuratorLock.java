import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;

/**
 * A lock of Curator, with a client of its own. That has no ensemble tracker, which reads the configuration of the ensemble at some
 * time after it has connected: nobody could count what the lock does.
 */
abstract class CuratorLock extends Lock {
    private static final int SESSION_TIMEOUT_MS = Integer.getInteger("session.timeout.ms", 10_000);
    private static final int RETRIES = 3;
    private static final int RETRY_PAUSE_MS = 100;

    private final CuratorFramework client;

    CuratorLock(String servers) throws InterruptedException {
        client = CuratorFrameworkFactory.builder()
                .connectString(servers)
                .sessionTimeoutMs(SESSION_TIMEOUT_MS)
                .connectionTimeoutMs(SESSION_TIMEOUT_MS)
                .retryPolicy(new RetryNTimes(RETRIES, RETRY_PAUSE_MS))
                .ensembleTracker(false)
                .build();
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
