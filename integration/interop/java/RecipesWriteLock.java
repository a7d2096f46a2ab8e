import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/** The WriteLock that comes with ZooKeeper. Its znodes are named after the session, so that each object needs its own. */
final class RecipesWriteLock extends Lock implements LockListener {
    private static final int SESSION_TIMEOUT_MS = 10_000;

    private final ZooKeeper client;
    private final WriteLock lock;
    private final Semaphore acquired = new Semaphore(0);

    RecipesWriteLock(String servers, String path) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        client = new ZooKeeper(servers, SESSION_TIMEOUT_MS, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        connected.await();
        lock = new WriteLock(client, path, ZooDefs.Ids.OPEN_ACL_UNSAFE, this);
    }

    @Override
    public void lockAcquired() {
        acquired.release();
    }

    @Override
    public void lockReleased() {}

    @Override
    long session() {
        return client.getSessionId();
    }

    @Override
    void acquire(boolean shared) throws Exception {
        lock.lock();
        acquired.acquire();
    }

    @Override
    void release() {
        lock.unlock();
    }

    @Override
    void close() throws InterruptedException {
        client.close();
    }
}
