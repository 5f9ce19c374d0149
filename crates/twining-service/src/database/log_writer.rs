//! The writer of one repository on this node: whatever waits goes into one transaction.
