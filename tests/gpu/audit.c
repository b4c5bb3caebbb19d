/* Which names of the driver were bound, and by whom: an oracle for doors that the shim may have missed.
 *
 * Set LD_AUDIT to this library and AUTOGRAPH_AUDIT to a file. Each binding of a name to an object called libcuda.so…,
 * by a call through the procedure linkage table or by dlsym, adds a line "NAME dlsym|link FROM". Bindings of the driver
 * to itself are left out; those of pointers in data are not told by the loader.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned la_version(unsigned version);
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie);
EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                              const char *name);

static int output = -1;

unsigned la_version(unsigned version)
{
    const char *path = getenv("AUTOGRAPH_AUDIT");
    if (path)
        output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie)
{
    (void)id;
    *cookie = (uintptr_t)map;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

static const char *file_of(const uintptr_t *cookie)
{
    const char *name = ((const struct link_map *)*cookie)->l_name;
    return name && *name ? name : "(program)";
}

static int is_driver(const char *file)
{
    const char *base = strrchr(file, '/');
    return !strncmp(base ? base + 1 : file, "libcuda.so", 10);
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name)
{
    (void)index;
    if (output >= 0 && is_driver(file_of(to)) && !is_driver(file_of(from)) && !strncmp(name, "cu", 2)) {
        char line[4600];
        int length = snprintf(line, sizeof line, "%s %s %s\n", name, *flags & LA_SYMB_DLSYM ? "dlsym" : "link",
                              file_of(from));
        if (length > 0 && write(output, line, (size_t)length) < 0)
            output = -1;
    }
    return symbol->st_value;
}
