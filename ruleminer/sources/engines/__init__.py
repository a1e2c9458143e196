"""The database engines we can read, one small file each."""
