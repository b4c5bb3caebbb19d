#include "tools/doctor.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define AG_DOCTOR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define AG_DOCTOR_MACHINE EM_AARCH64
#else
#error "autograph knows x86-64 and aarch64"
#endif

/* Finds the program as execvp would. */
static bool ag_doctor_find(const char *program, char path[PATH_MAX])
{
    if (strchr(program, '/')) {
        snprintf(path, PATH_MAX, "%s", program);
        return !access(path, X_OK);
    }
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folders, program);
        if (!access(path, X_OK))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

enum ag_doctor_kind { AG_DOCTOR_SCRIPT, AG_DOCTOR_STATIC, AG_DOCTOR_FOREIGN, AG_DOCTOR_DYNAMIC };

static enum ag_doctor_kind ag_doctor_kind(int file)
{
    Elf64_Ehdr header;
    if (pread(file, &header, sizeof header, 0) != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG))
        return AG_DOCTOR_SCRIPT;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != AG_DOCTOR_MACHINE)
        return AG_DOCTOR_FOREIGN;
    for (int i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)header.e_phoff + (off_t)i * header.e_phentsize;
        if (pread(file, &segment, sizeof segment, at) == sizeof segment && segment.p_type == PT_INTERP)
            return AG_DOCTOR_DYNAMIC;
    }
    return AG_DOCTOR_STATIC;
}

bool ag_doctor_check_program(const char *program)
{
    char path[PATH_MAX];
    struct stat info;
    if (!ag_doctor_find(program, path))
        return ag_doctor_say(AG_DOCTOR_FAIL, "program: %s is not found or not executable", program);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info)) {
        if (file >= 0)
            close(file);
        return ag_doctor_say(AG_DOCTOR_WARN, "program: %s cannot be read, so it was not checked", path);
    }
    enum ag_doctor_kind kind = ag_doctor_kind(file);
    bool capable = fgetxattr(file, "security.capability", NULL, 0) > 0;
    close(file);
    if (info.st_mode & (S_ISUID | S_ISGID))
        return ag_doctor_say(AG_DOCTOR_FAIL, "program: %s is set-user-ID or set-group-ID; LD_PRELOAD is ignored", path);
    if (capable)
        return ag_doctor_say(AG_DOCTOR_FAIL, "program: %s has file capabilities; LD_PRELOAD is ignored", path);
    switch (kind) {
    case AG_DOCTOR_STATIC:
        return ag_doctor_say(AG_DOCTOR_FAIL, "program: %s is linked statically; nothing can be preloaded", path);
    case AG_DOCTOR_FOREIGN:
        return ag_doctor_say(AG_DOCTOR_FAIL, "program: %s is for another machine type than the shim", path);
    case AG_DOCTOR_SCRIPT:
        return ag_doctor_say(AG_DOCTOR_OK, "program: %s is a script; its interpreter takes the preload", path);
    case AG_DOCTOR_DYNAMIC:
    default:
        return ag_doctor_say(AG_DOCTOR_OK, "program: %s can be preloaded", path);
    }
}
