# The initial file system of a guest: busybox, the modules without which the host's files cannot be mounted, and the job.
# shellcheck shell=bash

# initrd_of TREE RELEASE SCRATCH: prints it; SCRATCH/job holds the job's files, and SCRATCH is used up.
initrd_of() {
    local tree=$1 release=$2 job=$3/job root=$3/root module library name
    mkdir -p "$root"/{bin,dev,proc,sys,modules} || return
    cp "$lab/lib/init" "$job"/* "$root/" && cp "$(command -v busybox)" "$root/bin/busybox" && ln -s busybox "$root/bin/sh" || return
    # Debian has a static busybox and a dynamic one.
    for library in $(ldd "$root/bin/busybox" 2>/dev/null | grep -o '/[^ ]*'); do
        mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library" || return
    done
    # In the order in which they depend on each other. What is built in has no file.
    for module in $(modprobe -d "$tree" -S "$release" -a --show-depends virtio_pci virtio_console 9pnet_virtio 9p overlay |
        awk '$1 == "insmod" && !seen[$2]++ { print $2 }'); do
        name=$(basename "$module")
        case $name in
            *.xz) name=${name%.xz} && xz -dc "$module" ;;
            *.zst) name=${name%.zst} && zstd -dcq "$module" ;;
            *) cat "$module" ;;
        esac >"$root/modules/module" && mv "$root/modules/module" "$root/modules/$name" && echo "$name" >>"$root/modules/order" || return
    done
    [ -s "$root/modules/order" ] && (cd "$root" && find . | cpio --quiet -o -H newc)
}
