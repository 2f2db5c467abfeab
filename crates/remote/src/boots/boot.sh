# Executed by a shell on the machine whose kernel is changed (zc run --kernel ... --remote). Lines
# precede it that say what is to be done: zc_near='BOOT-ID of the client's own machine', zc_step=is,
# look, settle, kexec or reboot, and the words of that step.
#
# The braces make it one command, as in via.sh. Lines that begin with zc-boot: are for the client.
{
    zc_say() { printf '\nzc-boot: %s\n' "$*"; }
    zc_has() { command -v "$1" >/dev/null 2>&1; }
    # systemd runs here (sd_booted(3)).
    zc_systemd() { [ -d /run/systemd/system ] && zc_has systemctl; }

    zc_id=
    { read -r zc_id </proc/sys/kernel/random/boot_id; } 2>/dev/null
    [ -n "$zc_id" ] || { zc_say no-id; exit 0; }
    # This very machine, or a container on it: nothing is done here, whatever was asked for.
    [ "$zc_id" != "$zc_near" ] || { zc_say same; exit 0; }
    zc_say "is $zc_id $(uname -r) $(uname -v)"

    # The version in the header of a bzImage: RELEASE (BUILDER) BUILD (arch/x86/boot/version.c).
    # uname -v prints BUILD. At 0x20e is the version's offset less 0x200, little-endian like the
    # machine (Documentation/arch/x86/boot.rst).
    zc_header() {
        [ "$(dd if="$1" bs=1 skip=514 count=4 2>/dev/null | tr -d '\0')" = HdrS ] || return 1
        zc_at=$(od -An -tu2 -j526 -N2 "$1" 2>/dev/null | tr -d ' ')
        [ -n "$zc_at" ] || return 1
        dd if="$1" bs=1 skip=$((zc_at + 512)) count=250 2>/dev/null | tr '\0' '\n' | head -n 1
    }
    # Says what there is of kernel number $1, which was named $2.
    zc_find() {
        zc_image= zc_release= zc_initrd= zc_version=
        case $2 in
            /*) [ -f "$2" ] && [ -r "$2" ] && zc_image=$2 ;;
            *)
                zc_release=$2
                for zc_try in "/boot/vmlinuz-$2" "/boot/Image-$2" "/boot/vmlinux-$2" \
                    "/lib/modules/$2/vmlinuz"; do
                    [ -f "$zc_try" ] && zc_image=$zc_try && break
                done ;;
        esac
        [ -z "$zc_image" ] || zc_version=$(zc_header "$zc_image")
        [ -z "$zc_version" ] || zc_say "version $1 $zc_version"
        [ -n "$zc_release" ] || zc_release=${zc_version%% *}
        if [ -z "$zc_release" ] && [ -n "$zc_image" ]; then
            case ${zc_image##*/} in
                vmlinu[xz]-?* | Image-?*) zc_release=${zc_image##*/}; zc_release=${zc_release#*-} ;;
                *) zc_say "unknown $1"; return ;;
            esac
        fi
        [ -z "$zc_image" ] || zc_say "image $1 $zc_image"
        [ -z "$zc_release" ] || zc_say "release $1 $zc_release"
        [ -n "$zc_release" ] || return
        [ ! -d "/lib/modules/$zc_release" ] || zc_say "modules $1"
        for zc_try in ${zc_image:+"${zc_image%/*}"} /boot; do
            for zc_file in "$zc_try/initrd.img-$zc_release" "$zc_try/initramfs-$zc_release.img" \
                "$zc_try/initrd-$zc_release" "$zc_try/initramfs-$zc_release"; do
                [ -z "$zc_initrd" ] && [ -f "$zc_file" ] && zc_initrd=$zc_file
            done
        done
        [ -z "$zc_initrd" ] || zc_say "initrd $1 $zc_initrd"
        # The menu as grub-mkconfig writes it: util/grub.d/10_linux.in of GRUB.
        for zc_try in /boot/grub/grub.cfg /boot/grub2/grub.cfg; do
            [ -r "$zc_try" ] || continue
            zc_entry=$(awk -F "'" -v "begin=gnulinux-$zc_release-advanced-" '
                /^submenu / { menu = $4 ">" }
                /^}/ { menu = "" }
                /^[ \t]*menuentry / && index($4, begin) == 1 { print menu $4; exit }' "$zc_try")
            [ -z "$zc_entry" ] || { zc_say "entry $1 $zc_entry"; break; }
        done
    }

    case $zc_step in
        look)
            zc_say "name $(uname -n)"
            zc_say "user $(id -u)"
            zc_has kexec && zc_say kexec
            zc_locked=0
            { read -r zc_locked </proc/sys/kernel/kexec_load_disabled; } 2>/dev/null
            [ "$zc_locked" = 0 ] || zc_say locked
            zc_find 0 "$zc_old"
            zc_find 1 "$zc_new"
            zc_find 2 "$(uname -r)" ;;
        settle)
            # Until all of the boot's own work is done (systemctl(1)).
            zc_systemd && systemctl is-system-running --wait >/dev/null 2>&1 ;;
        kexec)
            zc_has kexec || { zc_say failed; exit 0; }
            kexec -l "$zc_image" ${zc_initrd:+"--initrd=$zc_initrd"} --reuse-cmdline ||
                { zc_say failed; exit 0; }
            zc_say going
            if zc_systemd; then
                systemctl kexec || zc_say failed
            else
                sync
                # The stream ends first.
                (trap '' HUP; sleep 1; exec kexec -e) </dev/null >/dev/null 2>&1 &
            fi ;;
        reboot)
            if [ -n "$zc_entry" ]; then
                zc_set=grub-reboot
                zc_has $zc_set || zc_set=grub2-reboot
                $zc_set "$zc_entry" || { zc_say failed; exit 0; }
            fi
            zc_say going
            if zc_systemd; then systemctl reboot; else reboot; fi || zc_say failed ;;
    esac
    exit 0
}
