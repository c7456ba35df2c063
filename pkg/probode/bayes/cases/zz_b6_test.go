package cases_test
import ("testing";"context";"os";"time";"fmt"
"github.com/probode/probode/pkg/probode"
"github.com/probode/probode/pkg/probode/mcmc"
"github.com/probode/probode/pkg/probode/bayes"
"github.com/probode/probode/pkg/probode/bayes/cases")
func TestB6(t *testing.T){
 f,_:=os.Open("../../../../notebooks/data/lynx_hare.csv"); d,err:=bayes.ReadCSV(f,"year","hare","lynx"); if err!=nil{t.Fatal(err)}
 for _,h:=range []float64{1,.5,.25,.125}{
 p:=cases.LynxHare(d); p.Method=probode.AdamsMoulton{Steps:1}; p.Step=h
 t0:=time.Now(); m,err:=p.FindMode(context.Background(),1); fmt.Println(h,time.Since(t0),err); if err!=nil{continue}
 fmt.Println(m.Theta,m.LogP)
 t0=time.Now(); c,err:=p.CalibrateAlpha(context.Background(),m.Theta,probode.CalibrateSettings{Paths:400}); if err!=nil {fmt.Println(err);continue}
 fmt.Println(c[0].Alpha,c[0].SE,c[0].Warnings,time.Since(t0))
 p.Alpha=bayes.Known(c[0].Alpha)
 for _,s:=range []bayes.Scheme{bayes.Deterministic{},bayes.PCNWithinGibbs{}}{
 t0=time.Now(); ch,err:=bayes.Sample(context.Background(),p,s,mcmc.Settings{Draws:4000}); if err!=nil{fmt.Println(err);continue}
 fmt.Println(s,time.Since(t0)); fmt.Println(ch)
 }}
}
