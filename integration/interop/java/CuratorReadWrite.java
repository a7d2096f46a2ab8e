import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** Curator's InterProcessReadWriteLock. */
final class CuratorReadWrite extends CuratorLock {
    private final InterProcessMutex read;
    private final InterProcessMutex write;
    private InterProcessMutex held;

    CuratorReadWrite(String servers, String path) throws InterruptedException {
        super(servers);
        InterProcessReadWriteLock lock = new InterProcessReadWriteLock(framework(), path);
        read = lock.readLock();
        write = lock.writeLock();
    }

    @Override
    void acquire(boolean shared) throws Exception {
        InterProcessMutex wanted = shared ? read : write;
        wanted.acquire();
        held = wanted;
    }

    @Override
    void downgrade() throws Exception {
        read.acquire();
        write.release();
        held = read;
    }

    @Override
    void release() throws Exception {
        held.release();
    }

    /** Reads, writes, and, where mode is "downgrades", writes and reads on, in turn. */
    @Override
    String rounds(int n, Section section, String mode) throws Exception {
        for (int i = 0; i < n; i++) {
            int turn = i % 3;
            if (turn == 1) {
                acquire(false);
                section.write();
            } else if (turn == 2 && mode.equals("downgrades")) {
                acquire(false);
                section.write();
                read.acquire();
                section.enterShared();
                write.release();
                held = read;
                section.readOwn();
            } else {
                acquire(true);
                section.enterShared();
                section.read();
            }
            release();
        }
        return section.result();
    }
}
