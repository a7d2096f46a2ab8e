import org.apache.curator.framework.CuratorFramework;

/** A lock object with its session. What a kind cannot do it refuses. */
abstract class Lock {
    abstract long session() throws Exception;

    /** Waits until the lock is held, shared or not. */
    abstract void acquire(boolean shared) throws Exception;

    /** Ends the hold. */
    abstract void release() throws Exception;

    abstract void close() throws Exception;

    /** Makes a shared hold of one that is not, without letting go in between. */
    void downgrade() throws Exception {
        throw new UnsupportedOperationException("downgrade");
    }

    /** Acquires and releases the lock n times, with nothing in between. */
    final void loop(int n) throws Exception {
        for (int i = 0; i < n; i++) {
            acquire(false);
            release();
        }
    }

    /** Acquires the lock and enters the critical section n times; returns the section's result. */
    String rounds(int n, Section section, String mode) throws Exception {
        throw new UnsupportedOperationException("rounds");
    }

    /** Says who leads. */
    String leader() throws Exception {
        throw new UnsupportedOperationException("leader");
    }

    /** Says who takes part, with a star behind who leads. */
    String participants() throws Exception {
        throw new UnsupportedOperationException("participants");
    }

    CuratorFramework framework() {
        throw new UnsupportedOperationException("no client of Curator");
    }

    void makeRevocable() {
        throw new UnsupportedOperationException("makeRevocable");
    }

    /** Waits until somebody has asked for the lock. */
    void awaitRevocation() throws InterruptedException {
        throw new UnsupportedOperationException("awaitRevocation");
    }

    void revoke(String node) throws Exception {
        throw new UnsupportedOperationException("revoke");
    }
}
