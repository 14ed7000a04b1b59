/* What _scan.c and tell/_samples.c use of Python's stable ABI (limited API 3.11), declared by hand:
   so a C compiler is all that building needs, for this machine or another one, and Python's headers,
   which few machines have and no two have alike, change no byte of what is built.

   https://docs.python.org/3.11/c-api/stable.html */

#include <stddef.h>

typedef ptrdiff_t Py_ssize_t;
typedef struct _object PyObject;
typedef struct _typeobject PyTypeObject;
typedef PyObject *(*newfunc)(PyTypeObject *, PyObject *, PyObject *);
typedef PyObject *(*fastcall)(PyObject *, PyObject *const *, Py_ssize_t);

#define METH_FASTCALL 0x0080
#define Py_tp_new 65
#define Py_TPFLAGS_TYPE_SUBCLASS (1UL << 31)
#define Py_DTSF_ADD_DOT_0 2

typedef struct {
    const char *name;
    fastcall function;
    int flags;
    const char *doc;
} PyMethodDef;

typedef struct {
    int slot;
    void *value;
} PyModuleDef_Slot;

typedef struct {
    Py_ssize_t refcnt;
    PyTypeObject *type;
    PyObject *(*init)(void);
    Py_ssize_t index;
    PyObject *copy;
    const char *name;
    const char *doc;
    Py_ssize_t size;
    const PyMethodDef *methods;
    const PyModuleDef_Slot *slots;
    void *traverse, *clear, *free;
} PyModuleDef;

extern PyObject _Py_NoneStruct;
extern PyTypeObject PyBool_Type, PyFloat_Type, PyLong_Type, PyTuple_Type;
extern PyObject *PyExc_TypeError, *PyExc_ValueError;

PyObject *PyModuleDef_Init(PyModuleDef *);
PyObject *Py_BuildValue(const char *, ...);
void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);

unsigned long PyType_GetFlags(PyTypeObject *);
void *PyType_GetSlot(PyTypeObject *, int);
int PyType_IsSubtype(PyTypeObject *, PyTypeObject *);
PyObject *PyObject_Type(PyObject *);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);

void *PyMem_Realloc(void *, size_t);
void PyMem_Free(void *);

PyObject *PyErr_Format(PyObject *, const char *, ...);
PyObject *PyErr_NoMemory(void);
PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_SetString(PyObject *, const char *);

char *PyBytes_AsString(PyObject *);
int PyBytes_AsStringAndSize(PyObject *, char **, Py_ssize_t *);
PyObject *PyBytes_FromStringAndSize(const char *, Py_ssize_t);
const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);

Py_ssize_t PyLong_AsSsize_t(PyObject *);
PyObject *PyLong_FromLongLong(long long);
long long PyLong_AsLongLong(PyObject *);
double PyFloat_AsDouble(PyObject *);
char *PyOS_double_to_string(double, char, int, int, int *);

PyObject *PyTuple_New(Py_ssize_t);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
PyObject *PyTuple_Pack(Py_ssize_t, ...);
int PySequence_Contains(PyObject *, PyObject *);

Py_ssize_t PyList_Size(PyObject *);
PyObject *PyList_GetItem(PyObject *, Py_ssize_t);
int PyList_Append(PyObject *, PyObject *);

PyObject *PyDict_New(void);
PyObject *PyDict_GetItemWithError(PyObject *, PyObject *);
int PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **);
int PyDict_SetItem(PyObject *, PyObject *, PyObject *);
Py_ssize_t PyDict_Size(PyObject *);
