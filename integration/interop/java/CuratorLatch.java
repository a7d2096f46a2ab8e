import java.util.Collection;
import java.util.stream.Collectors;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.Participant;

/** Curator's LeaderLatch. One object leads once, so each acquisition makes another. */
final class CuratorLatch extends CuratorLock {
    private final String path;
    private final String id;
    private LeaderLatch latch;

    CuratorLatch(String servers, String path, String id) throws InterruptedException {
        super(servers);
        this.path = path;
        this.id = id;
    }

    @Override
    void acquire(boolean shared) throws Exception {
        latch = new LeaderLatch(framework(), path, id);
        latch.start();
        latch.await();
        if (!latch.hasLeadership()) {
            throw new IllegalStateException("has waited, and does not lead");
        }
    }

    @Override
    void release() throws Exception {
        latch.close();
        // The znode is deleted in the background: the answer to a later request says that it has been.
        framework().checkExists().forPath(path);
    }

    @Override
    String leader() throws Exception {
        return new LeaderLatch(framework(), path).getLeader().getId();
    }

    @Override
    String participants() throws Exception {
        return ids(new LeaderLatch(framework(), path).getParticipants());
    }

    /** The ids, the leader's with a star. */
    static String ids(Collection<Participant> all) {
        return all.stream().map(p -> p.getId() + (p.isLeader() ? "*" : "")).collect(Collectors.joining(" "));
    }
}
