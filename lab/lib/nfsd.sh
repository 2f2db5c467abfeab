# The kernel's NFS server in a guest.
# shellcheck shell=bash
need exportfs nfs-kernel-server
need rpcbind rpcbind

# place_nfs AT: an empty file system in memory there, and a place for what the server keeps.
place_nfs() {
    modprobe nfsd
    mount -t nfsd nfsd /proc/fs/nfsd
    mkdir -p "$1" /var/lib/nfs
    mount -t tmpfs tmpfs /var/lib/nfs
    mkdir -p /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs
    touch /var/lib/nfs/{etab,rmtab,xtab}
    mount -t tmpfs tmpfs "$1"
}

# serve_nfs AT ADDRESS [OPTION,...]: exports it read-only to an address, as the root of version 4.
serve_nfs() {
    rpcbind -w
    # What a server offers at most depends on its memory: a guest of 2 GiB would round 1 MiB down to 256 KiB.
    echo $((1 << 20)) >/proc/fs/nfsd/max_block_size
    exportfs -o "ro,no_root_squash,no_subtree_check,fsid=0${3:+,$3}" "$2:$1"
    rpc.mountd --no-udp
    rpc.nfsd --no-udp 4 2>/dev/null || rpc.nfsd 4
    # Nobody has a state of another boot to reclaim: files of version 4 can be opened at once, not after a minute and a half.
    # (Some kernels do not let that be said.)
    echo Y >/proc/fs/nfsd/v4_end_grace || true
}
