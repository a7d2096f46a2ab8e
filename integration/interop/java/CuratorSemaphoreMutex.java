import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;

/** Curator's InterProcessSemaphoreMutex, the semaphore with one permit. */
final class CuratorSemaphoreMutex extends CuratorLock {
    private final InterProcessSemaphoreMutex mutex;

    CuratorSemaphoreMutex(String servers, String path) throws InterruptedException {
        super(servers);
        mutex = new InterProcessSemaphoreMutex(framework(), path);
    }

    @Override
    void acquire(boolean shared) throws Exception {
        mutex.acquire();
    }

    @Override
    void release() throws Exception {
        mutex.release();
    }
}
