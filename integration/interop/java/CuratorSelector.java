import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/** Curator's LeaderSelector, which leads as long as a method of its listener runs. */
final class CuratorSelector extends CuratorLock {
    private final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread t = new Thread(task);
        t.setDaemon(true);
        return t;
    });
    private final Semaphore leads = new Semaphore(0);
    private final Semaphore enough = new Semaphore(0);
    private final LeaderSelector selector;
    private boolean started;

    CuratorSelector(String servers, String path, String id) throws InterruptedException {
        super(servers);
        selector = new LeaderSelector(framework(), path, thread, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                leads.release();
                enough.acquire();
            }
        });
        selector.setId(id);
    }

    @Override
    void acquire(boolean shared) throws Exception {
        if (!started) {
            started = true;
            selector.start(); // queues as well
        } else if (!selector.requeue()) {
            throw new IllegalStateException("is queued already");
        }
        leads.acquire();
    }

    @Override
    void release() throws Exception {
        enough.release();
        // The selector's thread releases the lock after the method has returned, and is free for this then.
        thread.submit(() -> {}).get();
    }

    @Override
    String leader() throws Exception {
        return selector.getLeader().getId();
    }

    @Override
    String participants() throws Exception {
        return CuratorLatch.ids(selector.getParticipants());
    }
}
