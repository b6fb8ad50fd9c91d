# Include this after find_package(rosidl_default_generators). The C++ type supports take two thirds of the compile time
# and no Python process reads them, so an installation by pip (pyproject.toml sets EQA_PYTHON_ONLY) leaves them out.
if(EQA_PYTHON_ONLY)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
endif()
