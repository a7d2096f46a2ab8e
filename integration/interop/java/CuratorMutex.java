import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.Revoker;

/** Curator's InterProcessMutex. */
final class CuratorMutex extends CuratorLock {
    private final InterProcessMutex mutex;
    private final CountDownLatch revoked = new CountDownLatch(1);

    CuratorMutex(String servers, String path) throws InterruptedException {
        super(servers);
        mutex = new InterProcessMutex(framework(), path);
    }

    @Override
    void acquire(boolean shared) throws Exception {
        mutex.acquire();
    }

    @Override
    void release() throws Exception {
        mutex.release();
    }

    @Override
    void makeRevocable() {
        mutex.makeRevocable(m -> revoked.countDown());
    }

    @Override
    void awaitRevocation() throws InterruptedException {
        revoked.await();
    }

    @Override
    void revoke(String node) throws Exception {
        Revoker.attemptRevoke(framework(), node);
    }
}
