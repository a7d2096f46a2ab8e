import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** One permit at a time of Curator's InterProcessSemaphoreV2. */
final class CuratorSemaphore extends CuratorLock {
    private final int permits;
    private final InterProcessSemaphoreV2 semaphore;
    private Lease lease;

    CuratorSemaphore(String servers, String path, int permits) throws InterruptedException {
        super(servers);
        this.permits = permits;
        semaphore = new InterProcessSemaphoreV2(framework(), path, permits);
    }

    @Override
    void acquire(boolean shared) throws Exception {
        lease = semaphore.acquire();
    }

    @Override
    void release() {
        semaphore.returnLease(lease);
    }

    @Override
    void inside(Section section) throws Exception {
        section.share(permits);
    }
}
