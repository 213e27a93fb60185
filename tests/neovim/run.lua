-- `nvim --clean --headless -l run.lua SPEC CASE` runs one test of a file of this folder; `-l run.lua` alone lists them all.

local here = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))
package.path = here .. '/?.lua;' .. package.path

local spec, case = arg[1], arg[2]
if not spec then
  local names = {}
  for name in vim.fs.dir(here) do
    if vim.endswith(name, '_spec.lua') then
      for test in pairs(dofile(here .. '/' .. name)) do
        names[#names + 1] = ('%s %s'):format(name:gsub('_spec%.lua$', ''), test)
      end
    end
  end
  table.sort(names)
  io.stdout:write(table.concat(names, '\n'), '\n')
  os.exit(0)
end

local test = assert(dofile(('%s/%s_spec.lua'):format(here, spec))[case], ('no test %s in %s'):format(case, spec))
local passed, problem = xpcall(test, debug.traceback)
if not passed then
  io.stderr:write(tostring(problem), '\n')
end
io.stdout:flush()
os.exit(passed and 0 or 1)
